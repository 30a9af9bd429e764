#include "vig/tasks/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr int kTopFive = 5;

double share(double part, int64_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : part / static_cast<double>(whole);
}

// Of the classes where there is such a number.
template <typename Number>
double mean_of(const std::vector<ClassMetrics>& classes, const Number& number) {
  double sum = 0;
  int64_t count = 0;
  for (const ClassMetrics& one : classes) {
    if (std::isnan(number(one))) continue;
    sum += number(one);
    ++count;
  }
  return share(sum, count);
}

// -log softmax(logits)[label]
double cross_entropy(std::span<const float> logits, int label, float largest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return std::log(sum) + (static_cast<double>(largest) - logits[static_cast<size_t>(label)]);
}

}  // namespace

double ClassMetrics::precision() const { return share(static_cast<double>(correct), predicted); }
double ClassMetrics::recall() const { return share(static_cast<double>(correct), count); }

double ClassMetrics::f1() const {
  return share(2 * static_cast<double>(correct), count + predicted);
}

void ClassificationMetrics::add(std::span<const float> logits, int label) {
  if (logits.size() != static_cast<size_t>(classes)) {
    fail("[metrics] {} scores, expected one for each of {} classes", logits.size(), classes);
  }
  if (label < 0 || label >= classes) {
    fail("[metrics] label {}, expected one from 0 to {}", label, classes - 1);
  }
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      fail("[metrics] the score of class {} is {}, expected a finite number", i, logits[i]);
    }
  }
  const auto best = std::max_element(logits.begin(), logits.end());  // the first of equals
  const float own = logits[static_cast<size_t>(label)];
  int before = 0;  // classes that come before the label when the best are named first
  for (int i = 0; i < classes; ++i) {
    const float logit = logits[static_cast<size_t>(i)];
    before += logit > own || (logit == own && i < label) ? 1 : 0;
  }
  ++count;
  top1_hits += before == 0 ? 1 : 0;
  top5_hits += before < kTopFive ? 1 : 0;
  loss_sum += cross_entropy(logits, label, *best);
  ++confusion[{label, static_cast<int>(best - logits.begin())}];
}

double ClassificationMetrics::top1() const { return share(static_cast<double>(top1_hits), count); }
double ClassificationMetrics::top5() const { return share(static_cast<double>(top5_hits), count); }
double ClassificationMetrics::loss() const { return share(loss_sum, count); }

double ClassificationMetrics::balanced_accuracy() const {
  return mean_of(per_class(), [](const ClassMetrics& c) { return c.recall(); });
}

double ClassificationMetrics::macro_f1() const {
  return mean_of(per_class(), [](const ClassMetrics& c) { return c.f1(); });
}

std::vector<ClassMetrics> ClassificationMetrics::per_class() const {
  std::vector<ClassMetrics> result(static_cast<size_t>(std::max(classes, 0)));
  for (const auto& [pair, images] : confusion) {
    const auto [label, predicted] = pair;
    result[static_cast<size_t>(label)].count += images;
    result[static_cast<size_t>(predicted)].predicted += images;
    if (label == predicted) result[static_cast<size_t>(label)].correct += images;
  }
  return result;
}

int64_t ClassificationMetrics::confused(int label, int predicted) const {
  const auto found = confusion.find({label, predicted});
  return found == confusion.end() ? 0 : found->second;
}

}  // namespace vig
