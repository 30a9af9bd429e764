#include "vig/verify/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/session.h"
#include "vig/verify/comparison.h"
#include "vig/verify/dense.h"
#include "vig/verify/golden_case.h"
#include "vig/verify/operators.h"
#include "vig/verify/scan.h"
#include "vig/weights/elements.h"

namespace vig {
namespace {

// How the original code arranges what a module puts out; the engine's is [B, positions, channels].
enum class Arrangement { kChannelsLast, kChannelsFirst };

Arrangement arrangement(const std::string& where, const Shape& shape, int64_t batch,
                        const Node& node, bool maps_last) {
  const Grid& grid = node.grid;
  const int64_t tokens = grid.positions(), channels = grid.channels;
  // Shapes alone can leave it open, so the likelier reading comes first: norms over heads put
  // [B, T, heads, width] out, everything else of rank 4 is a map.
  if (const auto* norm = std::get_if<RmsNormOp>(&node.op)) {
    if (shape == Shape{batch, tokens, norm->groups, channels / norm->groups}) {
      return Arrangement::kChannelsLast;
    }
  }
  const bool first = shape == Shape{batch, channels, grid.height, grid.width};
  if (first && !maps_last) return Arrangement::kChannelsFirst;
  const bool last = shape == Shape{batch, tokens, channels} ||
                    shape == Shape{batch, grid.height, grid.width, channels} ||
                    (tokens == 1 && shape == Shape{batch, channels});
  if (!last && first) return Arrangement::kChannelsFirst;
  if (!last) {
    fail("{} is {}, expected {} images of a {}x{} grid of {} channels", where, shape.str(), batch,
         grid.height, grid.width, channels);
  }
  return Arrangement::kChannelsLast;
}

// A tensor to compare, and the node whose value it is.
struct ComparedTensor {
  std::string name;
  int node = -1;
  Arrangement order = Arrangement::kChannelsLast;
};

// Every tensor to compare has the size of its node's value, so that what is kept while running
// takes no more memory than the file suggests.
std::vector<ComparedTensor> comparisons(const GoldenCase& golden, const GoldenVersion& version,
                                        const Graph& graph, int64_t batch) {
  std::map<std::string_view, int> modules;
  for (const Output& module : graph.modules) modules.emplace(module.name, module.node);
  std::vector<ComparedTensor> list;
  for (const NamedTensor& tensor : golden.tensors->tensors()) {
    const auto begins = [&](const std::string& prefix) {
      return !prefix.empty() && tensor.name.starts_with(prefix);
    };
    std::string module;
    if (begins(version.activations)) {
      module = tensor.name.substr(version.activations.size());
    } else if (begins(version.maps)) {
      module = "backbone." + tensor.name.substr(version.maps.size());
    } else {
      continue;
    }
    if (is_inner_activation(version.spec, module)) continue;
    const auto found = modules.find(module);
    if (found == modules.end()) {
      fail("{}: the network has no module \"{}\"", golden.file, printable(module));
    }
    list.push_back({tensor.name, found->second});
  }
  if (!version.maps.empty()) {
    for (const char* map : {"f1", "f2", "f3", "f4"}) golden.tensor(version.maps + map);
  }
  if (!version.output.empty()) list.push_back({version.output, graph.find_output("logits")});
  for (ComparedTensor& entry : list) {
    const std::string where = golden.file + ": tensor \"" + printable(entry.name) + "\"";
    const Shape& shape = golden.tensor(entry.name).shape;
    entry.order = arrangement(where, shape, batch, graph.node(entry.node),
                              is_channels_last(golden.spec, entry.name));
  }
  return list;
}

// Adds what is found of one version of the network.
void verify_version(const GoldenCase& golden, const GoldenVersion& version,
                    const VerifyOptions& options, CaseReport& report) {
  const Shape& shape = golden.tensor("input").shape;
  const int64_t batch = shape[0];
  if (shape[2] > kMaxInputSide || shape[3] > kMaxInputSide || batch > kMaxInputSide) {
    fail("{}: the input is {}, expected sizes of at most {} (a fixed limit)", golden.file,
         shape.str(), kMaxInputSide);
  }
  const Graph graph = golden.graph(version);
  check_work(golden.file, golden.tensors->file_bytes(), graph, batch);
  const std::vector<ComparedTensor> list = comparisons(golden, version, graph, batch);
  SessionOptions session_options;
  session_options.batch = static_cast<int>(batch);
  session_options.threads = options.threads;
  for (const ComparedTensor& entry : list) session_options.keep.push_back(entry.node);
  Session session(graph, golden.weights(graph), session_options);

  const std::vector<float> input = channels_last(to_floats(golden.tensor("input")), batch, 3);
  const int64_t pixels = static_cast<int64_t>(input.size()) / batch;
  for (int i = 0; i < static_cast<int>(batch); ++i) {
    std::copy_n(input.begin() + i * pixels, pixels, session.input(i));
  }
  session.run(static_cast<int>(batch));
  for (const ComparedTensor& entry : list) {
    const TensorView& reference = golden.tensor(entry.name);
    const Node& node = graph.node(entry.node);
    std::vector<float> expected = to_floats(reference);
    if (entry.order == Arrangement::kChannelsFirst) {
      expected = channels_last(expected, batch, node.grid.channels);
    }
    std::vector<float> found;
    for (int i = 0; i < static_cast<int>(batch); ++i) {
      const float* values = session.value(entry.node, i);
      found.insert(found.end(), values, values + node.grid.elements());
    }
    report.tensors.push_back(compare_values(entry.name, expected, found, options.tolerance));
  }
}

CaseReport verify_network(const GoldenCase& golden, const VerifyOptions& options) {
  CaseReport report;
  report.file = golden.file;
  report.kind = golden.spec.family;
  for (const GoldenVersion& version : golden.versions) {
    verify_version(golden, version, options, report);
  }
  if (golden.kind == GoldenCase::Kind::kDense) verify_outputs(golden, options, report);
  return report;
}

CaseReport verify_scan(const GoldenCase& golden, const VerifyOptions& options) {
  const Shape& keys = golden.tensor("q").shape;
  const Shape& values = golden.tensor("v").shape;
  if (keys.rank() != 4 || values.rank() != 4 || keys.elements() < 1 || values.elements() < 1) {
    fail("{}: q is {} and v is {}, expected [batch, tokens, heads, width]", golden.file, keys.str(),
         values.str());
  }
  const auto read = [&](const std::string& name, int64_t width) {
    const Shape expected{keys[0], keys[1], keys[2], width};
    const TensorView& view = golden.tensor(name);
    if (view.shape != expected) {
      fail("{}: {} is {}, expected {}", golden.file, name, view.shape.str(), expected.str());
    }
    return to_floats(view);
  };
  const auto q = read("q", keys[3]), k = read("k", keys[3]), v = read("v", values[3]);
  const auto forward = read("gate_logit_forward", keys[3]);
  const auto backward = read("gate_logit_backward", keys[3]);
  ScanInput input;
  input.batch = keys[0];
  input.tokens = keys[1];
  input.heads = keys[2];
  input.key_dim = keys[3];
  input.value_dim = values[3];
  input.q = q.data();
  input.k = k.data();
  input.v = v.data();
  input.gate_forward = forward.data();
  input.gate_backward = backward.data();

  CaseReport report;
  report.file = golden.file;
  report.kind = "scan";
  report.tensors.push_back(
      compare_values("o", read("o", values[3]), bidirectional_scan(input), options.tolerance));
  return report;
}

}  // namespace

TensorCheck compare_values(const std::string& name, const std::vector<float>& expected,
                           const std::vector<float>& found, double tolerance) {
  TensorCheck check;
  check.name = name;
  bool finite = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    finite = finite && std::isfinite(expected[i]) && std::isfinite(found[i]);
    check.error = std::max(check.error, std::abs(double{found[i]} - double{expected[i]}));
    check.largest = std::max(check.largest, std::abs(double{expected[i]}));
  }
  if (!finite) check.error = std::numeric_limits<double>::infinity();
  check.relative = check.error == 0 ? 0 : check.error / check.largest;
  check.within = check.relative <= tolerance;
  return check;
}

bool CaseReport::passed() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.within; });
}

CaseReport verify_case(const std::string& file, const VerifyOptions& options) {
  const GoldenCase golden = open_golden_case(file);
  if (golden.kind == GoldenCase::Kind::kOperator) {
    CaseReport report;
    report.file = golden.file;
    report.kind = "operator";
    if (is_training_operator(golden.description)) {
      report.skipped = "an operator of training, which its own tests check";
      return report;
    }
    Comparison comparison(golden, options, report);
    try {
      verify_operator(comparison);
    } catch (const std::out_of_range&) {  // fewer numbers than levels, and the like
      fail("{}: the text beside it has fewer numbers than the tensors need", golden.file);
    } catch (const JsonError&) {
      fail("{}: the text beside it lacks a number or has another type of value", golden.file);
    }
    if (report.tensors.empty()) fail("{}: there is nothing to compare", golden.file);
    return report;
  }
  return golden.kind == GoldenCase::Kind::kScan ? verify_scan(golden, options)
                                                : verify_network(golden, options);
}

}  // namespace vig
