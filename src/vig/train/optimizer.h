// AdamW on flat memory, with averaged weights beside it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vig/torch/parameters.h"
#include "vig/train/options.h"
#include "vig/train/workers.h"

namespace vig::train {

// Learning rate of a step, counted from 0. A cosine follows upon its linear warm-up, from the start
// rate to the peak. The other schedules count from step 0, and during the w steps of their warm-up
// the rate of step i is multiplied by 1 - (1 - i / w) (1 - start / peak).
class Schedule {
 public:
  Schedule(const TrainOptions& options, int64_t steps_per_epoch, int64_t steps);
  double lr(int64_t step) const;
  int64_t warmup() const { return warmup_; }  // steps

 private:
  double falling(int64_t step) const;  // without a warm-up

  std::string kind_;
  double peak_, low_, start_;
  int64_t warmup_, steps_;
  std::vector<int64_t> drops_;  // steps from which on the rate is a tenth of before
};

// One step, with m and v the running means of the gradient and its square:
//   w -= lr * (m^ / (sqrt(v^) + eps) + weight_decay * w)
// with decay where the parameter's spec says so. With layer_decay < 1 a parameter's learning rate
// falls by that factor for every level between it and the last one.
class AdamW {
 public:
  AdamW(const TrainOptions& options, Parameters& parameters, Workers& workers);

  // Scales the gradient down to `clip` first. Gives its norm before.
  double step(double lr);

  int64_t steps() const { return steps_; }
  at::Tensor& mean() { return mean_; }
  at::Tensor& square() { return square_; }
  at::Tensor& average() { return average_; }  // undefined without averaging
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  struct Range {
    int64_t begin, end;
    float decay;  // of weights
    float rate;   // of the learning rate
  };
  double squared_norm();
  // The elements from `first` to `last` of the flat tensors.
  void update(int64_t first, int64_t last, double lr, double scale);

  const TrainOptions& options_;
  Parameters& parameters_;
  Workers& workers_;
  std::vector<Range> ranges_;
  at::Tensor mean_, square_, average_;
  int64_t steps_ = 0;
};

}  // namespace vig::train
