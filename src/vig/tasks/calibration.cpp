#include "vig/tasks/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr size_t kBins = 15;

// sum exp((x - max) / temperature)
double exponential_sum(std::span<const float> logits, float largest, double temperature) {
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp((static_cast<double>(logit) - largest) / temperature);
  }
  return sum;
}

}  // namespace

void Calibration::add(std::span<const float> logits, int label) {
  if (classes_ == 0) classes_ = logits.size();
  if (logits.size() != classes_ || label < 0 || static_cast<size_t>(label) >= classes_) {
    fail("[calibration] {} scores and label {}, expected {} scores and a label below",
         logits.size(), label, classes_);
  }
  logits_.insert(logits_.end(), logits.begin(), logits.end());
  labels_.push_back(label);
}

std::vector<Calibration::Best> Calibration::best_of(double temperature) const {
  std::vector<Best> all(images());
  for (size_t i = 0; i < all.size(); ++i) {
    const std::span<const float> own = logits(i);
    const auto largest = std::max_element(own.begin(), own.end());
    all[i] = {1 / exponential_sum(own, *largest, temperature),
              largest - own.begin() == static_cast<ptrdiff_t>(labels_[i])};
  }
  return all;
}

double Calibration::error(double temperature) const {
  struct Bin {
    double probability = 0, right = 0;
  };
  std::array<Bin, kBins> bins = {};
  for (const Best& best : best_of(temperature)) {
    const auto bin = static_cast<size_t>(best.probability * kBins);
    bins[std::min(bin, kBins - 1)].probability += best.probability;
    bins[std::min(bin, kBins - 1)].right += best.right ? 1 : 0;
  }
  double sum = 0;
  for (const Bin& bin : bins) sum += std::abs(bin.probability - bin.right);
  return images() == 0 ? 0 : sum / static_cast<double>(images());
}

double Calibration::loss(double temperature) const {
  double sum = 0;
  for (size_t i = 0; i < images(); ++i) {
    const std::span<const float> own = logits(i);
    const float largest = *std::ranges::max_element(own);
    const double label = own[static_cast<size_t>(labels_[i])];
    sum += std::log(exponential_sum(own, largest, temperature)) + (largest - label) / temperature;
  }
  return images() == 0 ? 0 : sum / static_cast<double>(images());
}

// The loss is convex in 1 / temperature, so a golden section search finds its one minimum.
double Calibration::best_temperature() const {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double low = 1.0 / 20, high = 20;
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double loss_a = loss(1 / a), loss_b = loss(1 / b);
  while (high - low > 1e-3 * low) {
    if (loss_a < loss_b) {
      high = b;
      b = a;
      loss_b = loss_a;
      a = high - ratio * (high - low);
      loss_a = loss(1 / a);
    } else {
      low = a;
      a = b;
      loss_a = loss_b;
      b = low + ratio * (high - low);
      loss_b = loss(1 / b);
    }
  }
  return 2 / (low + high);
}

Calibration::Kept Calibration::kept(double threshold, double temperature) const {
  double count = 0, right = 0;
  for (const Best& best : best_of(temperature)) {
    if (best.probability < threshold) continue;
    ++count;
    right += best.right ? 1 : 0;
  }
  if (count == 0) return {0, 1};
  return {count / static_cast<double>(images()), right / count};
}

}  // namespace vig
