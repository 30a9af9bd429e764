#include "vig/cli/eval_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"
#include "vig/cli/program.h"
#include "vig/cli/unreadable.h"
#include "vig/pipeline/evaluate.h"
#include "vig/tasks/classification.h"

namespace vig::cli {
namespace {

constexpr size_t kChunk = 1024;  // images whose probabilities are kept

// One precision.
struct Side {
  Side(const std::string& name, const EvalOptions& options, const ModelSource& source,
       size_t images)
      : arithmetic(arithmetic_from_name(name)), runner(source, run_options(options, images)) {}

  RunOptions run_options(const EvalOptions& options, size_t images) const {
    RunOptions run = options.network.run(images);
    run.precision = {arithmetic, {}};
    if (arithmetic == Arithmetic::kInt8)
      run.precision.float_layers = options.network.precision.float_layers;
    return run;
  }

  Arithmetic arithmetic;
  Runner runner;
  int64_t correct = 0;
  double seconds = 0;
  std::vector<std::vector<float>> probabilities;  // of the images of a chunk; empty: no answer
};

struct Comparison {
  int64_t images = 0, skipped = 0, equal = 0;
  double largest = 0;  // change of a probability
  std::string largest_file;
  bool complete = true;
};

int best(const std::vector<float>& probabilities) {
  return static_cast<int>(std::max_element(probabilities.begin(), probabilities.end()) -
                          probabilities.begin());
}

void run_side(const Dataset& chunk, Side& side, Unreadable* unreadable) {
  side.probabilities.assign(chunk.size(), {});
  EvaluateOptions evaluation;
  evaluation.on_problem = [&](size_t, const std::string& sentence) {
    if (unreadable != nullptr) unreadable->add(sentence);
  };
  evaluation.on_prediction = [&](size_t sample, int label, std::span<const float> logits) {
    std::vector<float>& own = side.probabilities[sample];
    own.assign(logits.begin(), logits.end());
    softmax(own);
    side.correct += best(own) == label;
  };
  side.seconds += evaluate(side.runner, chunk, evaluation).seconds;
}

void compare_chunk(const Dataset& chunk, const Side& a, const Side& b, Comparison& result) {
  for (size_t i = 0; i < chunk.size(); ++i) {
    const std::vector<float>&p = a.probabilities[i], &q = b.probabilities[i];
    if (p.empty() || q.empty()) {
      ++result.skipped;
      continue;
    }
    ++result.images;
    result.equal += best(p) == best(q);
    for (size_t c = 0; c < p.size(); ++c) {
      const double change = std::abs(double{p[c]} - double{q[c]});
      if (change <= result.largest) continue;
      result.largest = change;
      result.largest_file = chunk.path(i);
    }
  }
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void print_comparison(const EvalOptions& options, const ModelSource& source,
                      const std::vector<Side>& sides, const Comparison& result) {
  if (options.json) {
    Json json = {{"model", source.name},
                 {"data", options.data},
                 {"images", result.images},
                 {"skipped", result.skipped},
                 {"complete", result.complete}};
    for (const Side& side : sides) {
      json["top1"][arithmetic_name(side.arithmetic)] = share(side.correct, result.images);
    }
    json["equal_labels"] = share(result.equal, result.images);
    json["largest_change"] = result.largest;
    json["largest_change_file"] = result.largest_file;
    print_json(json);
    return;
  }
  Table table(
      {{"precision"}, {"top-1 %", Table::Align::kRight}, {"images/s", Table::Align::kRight}});
  for (const Side& side : sides) {
    table.add({arithmetic_name(side.arithmetic),
               fmt::format("{:.2f}", 100 * share(side.correct, result.images)),
               fmt::format("{:.1f}", static_cast<double>(result.images) / side.seconds)});
  }
  print(fmt::format(
      "{}: {} images of {}\n\n{}\nequal labels                    {:.2f} %\n"
      "largest change of a probability {:.4f} ({})\n",
      source.name, result.images, printable(options.data), table.text(),
      100 * share(result.equal, result.images), result.largest, printable(result.largest_file)));
}

}  // namespace

int compare_precisions(const EvalOptions& options, const ModelSource& source, const Dataset& data) {
  if (options.compare.size() != 2 || options.compare[0] == options.compare[1]) {
    fail_usage("--compare: expected two precisions, such as float32,int8");
  }
  std::vector<Side> sides;
  for (const std::string& name : options.compare) {
    sides.emplace_back(name, options, source, data.size());
  }
  catch_interrupt();
  Progress progress(static_cast<int64_t>(data.size()), "images");
  Unreadable unreadable;
  Comparison result;
  for (size_t first = 0; first < data.size(); first += kChunk) {
    if (interrupted()) {
      result.complete = false;
      break;
    }
    std::vector<size_t> samples(std::min(kChunk, data.size() - first));
    std::iota(samples.begin(), samples.end(), first);
    const Dataset chunk = data.subset(samples);
    run_side(chunk, sides[0], &unreadable);
    run_side(chunk, sides[1], nullptr);
    compare_chunk(chunk, sides[0], sides[1], result);
    progress.advance(static_cast<int64_t>(samples.size()));
  }
  progress.hide();
  if (result.images == 0 && result.complete) {
    fail("{}: none of its {} images could be read", options.data, data.size());
  }
  print_comparison(options, source, sides, result);
  if (!result.complete) return interrupted_exit();
  return finished_exit(result.images > 0, result.skipped > 0);
}

}  // namespace vig::cli
