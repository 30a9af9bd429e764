// Another engine to be measured beside ours: a command that replies to lines on standard input with
// lines on standard output, in the protocol of bench/baselines/README.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vig/base/co_process.h"
#include "vig/base/shape.h"

namespace vig {

struct BaselineOptions {
  std::string command;  // for /bin/sh; empty: no baseline
  // The network that the baseline runs, where it is not ours. Its result is then not compared.
  std::string other;
  Arithmetic arithmetic = Arithmetic::kFloat32;  // of its dense layers
  double timeout = 120;  // seconds, for one reply; `time` may take the time asked for besides
};

// keep_going has ended the measurement while a reply was awaited.
struct BaselineStopped {};

// Every function throws an Error that names the command when it ends, does not reply in time,
// reports an error or violates the protocol.
class Baseline {
 public:
  Baseline(const BaselineOptions& options, const std::vector<std::string>& environment,
           std::function<bool()> keep_going);

  const std::string& name() const { return name_; }  // "ONNX Runtime 1.30.0"

  // Logits of all images of `input`, the bytes of float32 values [batch, 3, height, width].
  std::vector<float> run(const MemoryFile& input, int batch, int height, int width);
  // Seconds of each run, at least one, of runs on the last input for about `seconds`.
  std::vector<double> time(double seconds);
  // Returns when the baseline's threads no longer occupy processors.
  void rest();
  size_t memory();  // largest resident size of its process

 private:
  std::string ask(const std::string& line, double seconds = 0);
  [[noreturn]] void fail_reply(const std::string& line, const std::string& expected,
                               const std::string& reply) const;

  BaselineOptions options_;
  std::function<bool()> keep_going_;
  std::optional<CoProcess> process_;
  std::string name_;
};

}  // namespace vig
