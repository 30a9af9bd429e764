#include "vig/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vig::train {
namespace {

constexpr int64_t kGrain = 1 << 15;  // floats

}  // namespace

Schedule::Schedule(const TrainOptions& options, int64_t steps_per_epoch, int64_t steps)
    : kind_(options.schedule), steps_(steps) {
  const double scale = options.lr_batch > 0 ? options.batch / options.lr_batch : 1.0;
  peak_ = options.lr * scale;
  low_ = options.min_lr * scale;
  start_ = options.warmup_lr * scale;
  const auto per_epoch = static_cast<double>(steps_per_epoch);
  warmup_ = std::min<int64_t>(steps, options.warmup_steps > 0
                                         ? options.warmup_steps
                                         : std::llround(options.warmup_epochs * per_epoch));
  for (const double epoch : lr_drop_epochs(options)) {
    drops_.push_back(std::llround(epoch * per_epoch));
  }
}

double Schedule::falling(int64_t step) const {
  if (kind_ == "linear") {
    const double left = 1 - static_cast<double>(step) / static_cast<double>(steps_);
    return low_ + (peak_ - low_) * std::max(0.0, left);
  }
  double rate = peak_;
  for (const int64_t drop : drops_) rate *= step >= drop ? 0.1 : 1.0;
  return rate;
}

double Schedule::lr(int64_t step) const {
  if (kind_ != "cosine") {
    if (step >= warmup_ || peak_ == 0) return falling(step);
    const double left = 1 - static_cast<double>(step) / static_cast<double>(warmup_);
    return falling(step) * (1 - left * (1 - start_ / peak_));
  }
  if (step < warmup_) {
    return start_ + (peak_ - start_) * static_cast<double>(step) / static_cast<double>(warmup_);
  }
  const double done = static_cast<double>(step - warmup_) /
                      static_cast<double>(std::max<int64_t>(1, steps_ - warmup_));
  return low_ + (peak_ - low_) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
}

AdamW::AdamW(const TrainOptions& options, Parameters& parameters, Workers& workers)
    : options_(options), parameters_(parameters), workers_(workers) {
  int last_level = 0;
  for (const ParamSpec& spec : parameters.specs()) last_level = std::max(last_level, spec.level);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].requires_grad()) continue;
    const ParamSpec& spec = parameters.spec(i);
    ranges_.push_back({parameters.begin(i), parameters.end(i),
                       spec.decayed ? static_cast<float>(options.weight_decay) : 0.0f,
                       static_cast<float>(std::pow(options.layer_decay, last_level - spec.level))});
  }
  mean_ = at::zeros_like(parameters.values());
  square_ = at::zeros_like(parameters.values());
  if (options.ema > 0) average_ = parameters.values().detach().clone();
}

// By blocks of fixed size in a fixed order, so that it does not depend on the threads.
double AdamW::squared_norm() {
  const int64_t count = parameters_.gradients().numel();
  const float* data = parameters_.gradients().data_ptr<float>();
  std::vector<double> sums(static_cast<size_t>((count + kGrain - 1) / kGrain));
  workers_.parts(count, kGrain, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; block += kGrain) {
      double sum = 0;
      for (int64_t i = block; i < std::min(last, block + kGrain); i += 64) {
        float part = 0;
        for (int64_t j = i; j < std::min(last, i + 64); ++j) part += data[j] * data[j];
        sum += part;
      }
      sums[static_cast<size_t>(block / kGrain)] = sum;
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

void AdamW::update(int64_t first, int64_t last, double lr, double scale) {
  const float beta1 = static_cast<float>(options_.beta1);
  const float beta2 = static_cast<float>(options_.beta2);
  // Not from the rounded betas: 1 - 0.999 would lose three digits.
  const float rest1 = static_cast<float>(1 - options_.beta1);
  const float rest2 = static_cast<float>(1 - options_.beta2);
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  const float root = static_cast<float>(1 / std::sqrt(correction2));
  const float eps = static_cast<float>(options_.adam_eps);
  const float factor = static_cast<float>(scale);
  float* w = parameters_.values().data_ptr<float>();
  const float* g = parameters_.gradients().data_ptr<float>();
  float* m = mean_.data_ptr<float>();
  float* v = square_.data_ptr<float>();
  for (const Range& range : ranges_) {
    const float rate = static_cast<float>(lr * range.rate / correction1);
    const float keep = static_cast<float>(1 - lr * range.rate * range.decay);
    for (int64_t i = std::max(first, range.begin); i < std::min(last, range.end); ++i) {
      const float gradient = g[i] * factor;
      m[i] = beta1 * m[i] + rest1 * gradient;
      v[i] = beta2 * v[i] + rest2 * gradient * gradient;
      w[i] = keep * w[i] - rate * m[i] / (std::sqrt(v[i]) * root + eps);
    }
  }
}

double AdamW::step(double lr) {
  at::NoGradGuard no_grad;
  ++steps_;
  const bool host = parameters_.values().is_cpu();
  const double norm =
      std::sqrt(host ? squared_norm() : parameters_.gradients().square().sum().item<double>());
  const double scale = options_.clip > 0 && norm > options_.clip ? options_.clip / norm : 1.0;
  if (!std::isfinite(norm)) return norm;  // nothing is touched
  if (host) {
    workers_.parts(parameters_.values().numel(), kGrain,
                   [&](int64_t first, int64_t last) { update(first, last, lr, scale); });
  } else {
    const at::Tensor g = parameters_.gradients() * scale;
    mean_.mul_(options_.beta1).add_(g, 1 - options_.beta1);
    square_.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);
    const double c1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
    const double c2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
    for (const Range& r : ranges_) {
      const auto part = [&](const at::Tensor& x) { return x.narrow(0, r.begin, r.end - r.begin); };
      at::Tensor w = part(parameters_.values());
      w.mul_(1 - lr * r.rate * r.decay)
          .addcdiv_(part(mean_), (part(square_) / c2).sqrt_().add_(options_.adam_eps),
                    -lr * r.rate / c1);
    }
  }
  if (average_.defined()) {
    // Follows closely at first, so that the average of a short run is not the fresh weights.
    const double steps = static_cast<double>(steps_);
    const double decay = std::min(options_.ema, (1 + steps) / (10 + steps));
    average_.lerp_(parameters_.values(), 1 - decay);
  }
  return norm;
}

}  // namespace vig::train
