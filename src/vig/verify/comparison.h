// Results against the tensors of a golden case, and what its text says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vig/base/json.h"
#include "vig/graph/graph.h"
#include "vig/tasks/results.h"
#include "vig/verify/golden_case.h"
#include "vig/verify/verify.h"

namespace vig {

class Comparison {
 public:
  Comparison(const GoldenCase& golden, const VerifyOptions& options, CaseReport& report)
      : golden_(golden), options_(options), report_(report) {}

  // Adds a check of two lists.
  void values(const std::string& name, const std::vector<float>& expected,
              const std::vector<float>& found);
  void counts(const std::string& name, const std::vector<int64_t>& expected,
              const std::vector<int64_t>& found);
  // The same against a tensor, which must have as many elements.
  void tensor(const std::string& name, const std::vector<float>& found);
  void integers(const std::string& name, const std::vector<int64_t>& found);
  // The tensor is [n, C, H, W], `found` [n, H, W, C].
  void map(const std::string& name, const std::vector<float>& found);
  // Rows of (x1, y1, x2, y2, score): boxes and scores have sizes of their own.
  void boxes(const std::string& name, const std::vector<float>& found);

  // ---- what the case holds ----

  const GoldenCase& golden() const { return golden_; }
  int threads() const { return options_.threads; }
  bool has(const std::string& name) const { return golden_.tensors->find(name) != nullptr; }
  const Shape& shape(const std::string& name) const;
  // Of rank `rank`.
  const Shape& shape(const std::string& name, int rank) const;
  std::vector<float> floats(const std::string& name) const;
  // Of this shape.
  std::vector<float> floats(const std::string& name, const Shape& shape) const;
  std::vector<double> doubles(const std::string& name) const;
  std::vector<int64_t> whole(const std::string& name) const;
  std::vector<int64_t> whole(const std::string& name, const Shape& shape) const;
  // [n, C, H, W] as [n, H, W, C].
  std::vector<float> rows(const std::string& name) const;
  // Corners of which none is farther off than any image is large.
  std::vector<Box> box_list(const std::string& name, size_t width = 4, size_t first = 0) const;
  // What follows `prefix` in the names that begin with it.
  std::vector<std::string> names_under(std::string_view prefix) const;

  // ---- what its text says; throws where it does not ----

  const Json& text(std::string_view key) const;
  double number(std::string_view key) const { return as_number(key, text(key)); }
  int count(std::string_view key, int most = 1 << 20) const;
  std::vector<double> numbers(std::string_view key) const;
  // From 1 to `most`.
  std::vector<int> counts_of(std::string_view key, int most = 4096) const;
  // [height, width], and a list of such.
  GridSize size(std::string_view key) const;
  std::vector<GridSize> sizes(std::string_view key) const;

  // Runs a graph on inputs by their names, [batch, positions, channels], with parameters from
  // tensors param/NAME where `prefix` is taken from our names. Gives the values of its outputs.
  std::vector<std::vector<float>> run(const Graph& graph,
                                      const std::vector<std::vector<float>>& inputs, int64_t batch,
                                      std::string_view prefix = "") const;

 private:
  double as_number(std::string_view key, const Json& value) const;
  GridSize as_size(std::string_view key, const Json& value) const;
  void check_shape(const std::string& name, const Shape& found, const Shape& expected) const;

  const GoldenCase& golden_;
  const VerifyOptions& options_;
  CaseReport& report_;
};

}  // namespace vig
