#include "vig/train/pace.h"

namespace vig::train {
namespace {

constexpr int64_t kWarmUp = 2;      // steps that do not count
constexpr int64_t kFewSteps = 3;    // that count, before anything is said
constexpr int64_t kManySteps = 20;  // enough, however short they are
constexpr double kSeconds = 3;      // enough, for kFewSteps or more
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void Pace::Average::add(double value) {
  sum_ = keep_ * sum_ + value;
  weight_ = keep_ * weight_ + 1;
}

void Pace::add_step(double seconds, int64_t images) {
  if (++steps_ <= kWarmUp) return;
  seconds_ += seconds;
  step_.add(seconds);
  images_.add(static_cast<double>(images));
}

void Pace::add_validation(double seconds) { validation_.add(seconds); }
void Pace::add_checkpoint(double seconds) { checkpoint_.add(seconds); }

bool Pace::measured() const {
  const int64_t counted = steps_ - kWarmUp;
  return counted >= kManySteps || (counted >= kFewSteps && seconds_ >= kSeconds);
}

double Pace::images_per_second() const {
  if (!measured() || step_.value() <= 0) return kUnknown;
  return images_.value() / step_.value();
}

double Pace::seconds_left(const WorkLeft& left) const {
  if (left.steps == 0 && left.validations == 0) return 0;
  if (!measured()) return kUnknown;
  const double steps = static_cast<double>(left.steps) * step_.value();
  const double validation = !validation_.empty() ? validation_.value()
                            : step_.value() <= 0 ? 0
                                                 : static_cast<double>(left.val_images) /
                                                       (3 * images_.value() / step_.value());
  double checkpoints = static_cast<double>(left.validations);
  if (left.checkpoint_minutes > 0) {
    checkpoints += steps / (60 * left.checkpoint_minutes);
  } else {
    checkpoints += static_cast<double>(left.steps);  // after every step
  }
  return steps + static_cast<double>(left.validations) * validation +
         checkpoints * (checkpoint_.empty() ? 0 : checkpoint_.value());
}

}  // namespace vig::train
