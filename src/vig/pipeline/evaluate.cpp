#include "vig/pipeline/evaluate.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/order.h"

namespace vig {

std::vector<int> match_classes(std::span<const std::string> data_classes, int output_count,
                               std::span<const std::string> outputs) {
  std::vector<int> matched;
  if (outputs.empty()) {
    if (data_classes.size() != static_cast<size_t>(output_count)) {
      fail("{} classes in the data for a model of {} classes without names", data_classes.size(),
           output_count);
    }
    for (int i = 0; i < output_count; ++i) matched.push_back(i);
    return matched;
  }
  std::multimap<std::string, int> by_name;
  for (size_t i = 0; i < outputs.size(); ++i) by_name.emplace(outputs[i], static_cast<int>(i));
  std::vector<std::string> unknown;
  for (const std::string& name : data_classes) {
    const auto [first, last] = by_name.equal_range(name);
    if (first == last) {
      unknown.push_back(name);
    } else if (std::next(first) != last) {
      fail("class {} of the data could be output {} or {} of the model, which have the same name",
           printable(name, 40), first->second, std::next(first)->second);
    } else {
      matched.push_back(first->second);
    }
  }
  if (unknown.empty()) return matched;
  std::vector<std::string> missing;
  for (const std::string& name : outputs) {
    if (std::find(data_classes.begin(), data_classes.end(), name) == data_classes.end()) {
      missing.push_back(name);
    }
  }
  fail("the model does not know the classes {} of the data; of its own, these are not there: {}",
       printable_list(unknown, 12), missing.empty() ? "none" : printable_list(missing, 12));
}

Evaluation evaluate(const Runner& runner, const Dataset& data, const EvaluateOptions& options) {
  const int classes = model_classes(runner.spec());
  const std::vector<int> output_of = match_classes(data.classes(), classes, runner.classes());
  Evaluation result;
  result.metrics = ClassificationMetrics(classes);

  Runner::Pass pass;
  // In random order, so that a partial result is representative.
  const std::vector<std::vector<size_t>> shards = data.shards();
  pass.order = shards.empty() ? epoch_order(data.size(), 0, 0) : shard_order(shards, 0, 0);
  pass.on_problem = [&](size_t sample, const std::string& sentence) {
    ++result.skipped;
    if (options.on_problem) options.on_problem(sample, sentence);
  };
  pass.on_values = [&](size_t sample, const Session& session, int image) {
    const std::span<const float> logits(session.output("logits", image),
                                        static_cast<size_t>(classes));
    const int label = output_of[static_cast<size_t>(data.label(sample))];
    try {
      result.metrics.add(logits, label);
    } catch (const Error& error) {
      return pass.on_problem(sample, fmt::format("{}: {}", data.location(sample), error.what()));
    }
    if (options.on_prediction) options.on_prediction(sample, label, logits);
  };
  if (options.on_batch) {
    pass.on_batch = [&](size_t samples) { return options.on_batch(static_cast<int64_t>(samples)); };
  }
  const auto start = std::chrono::steady_clock::now();
  result.complete = runner.run(data, pass);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace vig
