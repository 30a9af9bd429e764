// How fast a run is, and how long it will still take.
#pragma once

#include <cstdint>
#include <limits>

namespace vig::train {

// What a run still has to do.
struct WorkLeft {
  int64_t steps = 0;
  int64_t validations = 0;  // each followed by a checkpoint
  int64_t val_images = 0;
  double checkpoint_minutes = 0;  // between further checkpoints
};

// Loading is part of a step's time. Estimates are NaN until enough was measured: the first steps
// are slower than the rest, as memory is touched for the first time, or faster, as batches wait
// ready.
class Pace {
 public:
  void add_step(double seconds, int64_t images);
  void add_validation(double seconds);  // what it writes included
  void add_checkpoint(double seconds);

  double images_per_second() const;
  // Validation counts as measured; before the first, an image as a third of a training step's,
  // since a backward pass takes as long as two forward passes.
  double seconds_left(const WorkLeft& left) const;

 private:
  // An average that forgets, without a bias towards its first value.
  class Average {
   public:
    explicit Average(double keep) : keep_(keep) {}
    void add(double value);
    bool empty() const { return weight_ == 0; }
    double value() const { return sum_ / weight_; }

   private:
    double keep_, sum_ = 0, weight_ = 0;
  };

  bool measured() const;

  int64_t steps_ = 0;   // all of them
  double seconds_ = 0;  // of those that count
  Average step_{0.98}, images_{0.98}, validation_{0.5}, checkpoint_{0.5};
};

}  // namespace vig::train
