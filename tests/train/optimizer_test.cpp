// AdamW against a reference in double, its rules by name, the schedule, the average.
#include "vig/train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "vig/base/random.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

using train::AdamW;
using train::Parameters;
using train::Schedule;
using train::TrainOptions;
using train::Workers;

// Levels 0 to 3; matrices decay.
const std::vector<ParamSpec>& odd_specs() {
  static const std::vector<ParamSpec> specs = [] {
    std::vector<ParamSpec> all = {
        {"patch_embed.weight", {5, 3, 2, 2}, normal_init(0.5f)},
        {"blocks.0.norm.weight", {7}, ones_init()},
        {"blocks.0.fc.weight", {400, 100}, normal_init(0.1f)},  // more than a thread's part
        {"blocks.1.fc.weight", {3, 5}, normal_init(0.1f)},
        {"head.weight", {1, 1}, normal_init(0.1f)},
        {"head.bias", {1}, constant_init(0.3f)},
    };
    const int levels[] = {0, 1, 1, 2, 3, 3};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].level = levels[i];
      all[i].decayed = all[i].shape.rank() > 1;
    }
    return all;
  }();
  return specs;
}

// The same step in double, parameter by parameter, from the paper (Loshchilov and Hutter, 2019).
class Reference {
 public:
  Reference(const TrainOptions& options, const Parameters& parameters, std::vector<double> rates)
      : options_(options), rates_(std::move(rates)) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const float* data = parameters[i].data_ptr<float>();
      w_.emplace_back(data, data + parameters[i].numel());
      m_.emplace_back(w_.back().size(), 0.0);
      v_.emplace_back(w_.back().size(), 0.0);
    }
    average_ = w_;
  }

  double step(const Parameters& parameters, double lr) {
    ++steps_;
    double squares = 0;
    for (size_t i = 0; i < w_.size(); ++i) {
      for (size_t j = 0; j < w_[i].size(); ++j) squares += std::pow(gradient(parameters, i, j), 2);
    }
    const double norm = std::sqrt(squares);
    const double scale = options_.clip > 0 ? std::min(1.0, options_.clip / norm) : 1.0;
    const double decay = std::min(options_.ema, (1.0 + steps_) / (10.0 + steps_));
    for (size_t i = 0; i < w_.size(); ++i) {
      const double wd = parameters.spec(i).shape.rank() > 1 ? options_.weight_decay : 0;
      for (size_t j = 0; j < w_[i].size(); ++j) {
        const double g = scale * gradient(parameters, i, j);
        double &m = m_[i][j], &v = v_[i][j], &w = w_[i][j];
        m = options_.beta1 * m + (1 - options_.beta1) * g;
        v = options_.beta2 * v + (1 - options_.beta2) * g * g;
        const double mean = m / (1 - std::pow(options_.beta1, steps_));
        const double square = v / (1 - std::pow(options_.beta2, steps_));
        w -= lr * rates_[i] * (mean / (std::sqrt(square) + options_.adam_eps) + wd * w);
        average_[i][j] = decay * average_[i][j] + (1 - decay) * w;
      }
    }
    return norm;
  }

  const std::vector<std::vector<double>>& values() const { return w_; }
  const std::vector<std::vector<double>>& average() const { return average_; }

 private:
  static double gradient(const Parameters& parameters, size_t i, size_t j) {
    return parameters[i].grad().data_ptr<float>()[j];
  }

  const TrainOptions options_;
  const std::vector<double> rates_;
  std::vector<std::vector<double>> w_, m_, v_, average_;
  int steps_ = 0;
};

void expect_near(const std::vector<at::Tensor>& actual,
                 const std::vector<std::vector<double>>& expected, double tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) {
    double largest = 0;
    for (size_t j = 0; j < expected[i].size(); ++j) {
      const double difference = std::abs(actual[i].data_ptr<float>()[j] - expected[i][j]);
      if (!(difference <= largest)) largest = difference;  // also when it is no number
      if (std::isnan(largest)) break;
    }
    EXPECT_LE(largest, tolerance) << odd_specs()[i].name;
  }
}

TEST(AdamW, IsItsReferenceInDouble) {
  TrainOptions options;
  options.clip = 2;
  options.layer_decay = 0.7;
  options.ema = 0.9;
  options.weight_decay = 0.3;
  options.beta2 = 0.99;
  Workers workers(3);
  Parameters parameters(odd_specs(), *random_weights(odd_specs(), 1), at::kCPU);
  AdamW optimizer(options, parameters, workers);
  // From the head: blocks.1 is one block away, blocks.0 two, what is before them three.
  Reference reference(options, parameters, {0.343, 0.49, 0.49, 0.7, 1, 1});
  int clipped = 0;
  for (int step = 0; step < 20; ++step) {
    parameters.zero_gradients();
    RandomStream stream = RandomStream(9).fork(static_cast<uint64_t>(step));
    const float size = step % 3 == 0 ? 0.002f : 0.1f;  // below and above the clip
    for (const at::Tensor& view : parameters.views()) {
      float* gradient = view.mutable_grad().data_ptr<float>();
      for (int64_t j = 0; j < view.numel(); ++j) gradient[j] = size * stream.normal();
    }
    const double lr = 1e-2 / (1 + step);
    const double norm = reference.step(parameters, lr);
    EXPECT_NEAR(optimizer.step(lr), norm, 1e-5 * norm);
    clipped += norm > options.clip ? 1 : 0;
  }
  EXPECT_TRUE(clipped > 0 && clipped < 20);
  EXPECT_EQ(optimizer.steps(), 20);
  expect_near(parameters.views(), reference.values(), 2e-6);
  expect_near(parameters.views_of(optimizer.average()), reference.average(), 2e-6);
}

TEST(AdamW, GivesTheSameBitsOnAnyNumberOfThreads) {
  std::vector<at::Tensor> results;
  for (const int threads : {1, 2, 5}) {
    TrainOptions options;
    options.clip = 0.1;
    Workers workers(threads);
    Parameters parameters(odd_specs(), *random_weights(odd_specs(), 1), at::kCPU);
    AdamW optimizer(options, parameters, workers);
    for (const at::Tensor& view : parameters.views()) view.mutable_grad().copy_(view.sin());
    optimizer.step(0.1);
    results.push_back(parameters.values().clone());
  }
  EXPECT_TRUE(at::equal(results[0], results[1]));
  EXPECT_TRUE(at::equal(results[0], results[2]));
}

TEST(AdamW, VectorsDoNotDecay) {
  TrainOptions options;
  options.weight_decay = 0.5;
  Workers workers(1);
  Parameters parameters(odd_specs(), *random_weights(odd_specs(), 1), at::kCPU);
  const at::Tensor before = parameters.values().clone();
  AdamW optimizer(options, parameters, workers);
  optimizer.step(0.1);  // no gradient
  const std::vector<at::Tensor> old = parameters.views_of(before);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool matrix = parameters.spec(i).shape.rank() > 1;
    const at::Tensor expected = matrix ? old[i] * 0.95 : old[i];
    EXPECT_LE((parameters[i] - expected).abs().max().item<float>(), matrix ? 1e-6f : 0.0f)
        << parameters.spec(i).name;
  }
}

TEST(AdamW, WhatIsFrozenStays) {
  TrainOptions options;
  Workers workers(2);
  Parameters parameters(odd_specs(), *random_weights(odd_specs(), 1), at::kCPU);
  parameters.freeze(2);
  const at::Tensor before = parameters.values().clone();
  AdamW optimizer(options, parameters, workers);
  parameters.gradients().fill_(0.1);
  optimizer.step(0.1);
  const std::vector<at::Tensor> old = parameters.views_of(before);
  const std::vector<at::Tensor> average = parameters.views_of(optimizer.average());
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(at::equal(parameters[i].detach(), old[i]), i == 2) << i;
    EXPECT_EQ(at::equal(average[i], old[i]), i == 2) << i;
  }
}

TEST(AdamW, AGradientThatIsNotFiniteTouchesNothing) {
  for (const float bad : {NAN, INFINITY, 1e30f}) {  // the square of the last is not, either
    TrainOptions options;
    Workers workers(2);
    Parameters parameters(odd_specs(), *random_weights(odd_specs(), 1), at::kCPU);
    const at::Tensor before = parameters.values().clone();
    AdamW optimizer(options, parameters, workers);
    parameters.gradients().fill_(0.1);
    parameters.gradients()[500] = bad;
    EXPECT_FALSE(std::isfinite(optimizer.step(0.1)));
    EXPECT_TRUE(at::equal(parameters.values(), before));
    EXPECT_TRUE(at::equal(optimizer.average(), before));
  }
}

// In its first step Adam moves every weight by the learning rate, for any gradient.
std::map<std::string, double> first_moves(const std::string& model) {
  const Graph graph = build_graph(find_model(model), 64, 64);
  TrainOptions options;
  options.weight_decay = 0;
  options.layer_decay = 0.5;
  options.clip = 0;
  Workers workers(1);
  Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
  parameters.values().zero_();
  AdamW optimizer(options, parameters, workers);
  parameters.gradients().fill_(1);
  optimizer.step(1);
  std::map<std::string, double> moves;
  for (size_t i = 0; i < parameters.size(); ++i) {
    moves[parameters.spec(i).name] = -parameters[i].flatten()[0].item<double>();
  }
  return moves;
}

TEST(LayerDecay, OfThePlainFamily) {
  const auto moves = first_moves("test_vig");  // two blocks
  for (const auto& [name, move] : moves) {
    const double expected = name.starts_with("blocks.0.")                             ? 0.25
                            : name.starts_with("blocks.1.")                           ? 0.5
                            : name.starts_with("patch_embed.") || name == "pos_embed" ? 0.125
                                                                                      : 1.0;
    EXPECT_NEAR(move, expected, 1e-6) << name;
  }
  EXPECT_NEAR(moves.at("head.weight"), 1, 1e-6);
  EXPECT_NEAR(moves.at("pos_embed"), 0.125, 1e-6);
}

TEST(LayerDecay, OfTheHierarchicalFamily) {
  const auto moves = first_moves("test_vig_h");  // four stages of one block
  for (const auto& [name, move] : moves) {
    double expected = name.starts_with("patch_embed.") ? 1.0 / 32 : 1.0;
    // A stage's downsampling belongs to its last block.
    for (int stage = 0; stage < 4; ++stage) {
      if (name.starts_with("layers." + std::to_string(stage))) expected = std::pow(0.5, 4 - stage);
    }
    EXPECT_NEAR(move, expected, 1e-6) << name;
  }
  EXPECT_NEAR(moves.at("layers.0.downsample.1.weight"), 1.0 / 16, 1e-6);
}

TEST(Schedule, WarmsUpThenFallsAsACosine) {
  TrainOptions options;
  options.lr = 1;
  options.min_lr = 0.1;
  options.warmup_lr = 0.2;
  options.warmup_epochs = 2;
  const Schedule schedule(options, 10, 100);
  EXPECT_DOUBLE_EQ(schedule.lr(0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.lr(10), 0.6);
  EXPECT_DOUBLE_EQ(schedule.lr(20), 1);
  EXPECT_DOUBLE_EQ(schedule.lr(60), 0.55);
  EXPECT_NEAR(schedule.lr(40), 0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_NEAR(schedule.lr(99), 0.1, 1e-3);
  EXPECT_GT(schedule.lr(99), 0.1);
  EXPECT_DOUBLE_EQ(schedule.lr(100), 0.1);
  for (int step = 20; step < 100; ++step) EXPECT_GT(schedule.lr(step), schedule.lr(step + 1));
}

TEST(Schedule, RatesFollowTheBatch) {
  TrainOptions options;
  options.lr = 1;
  options.min_lr = 0.1;
  options.warmup_lr = 0.2;
  options.warmup_epochs = 1;
  options.batch = 1024;
  options.lr_batch = 512;
  const Schedule schedule(options, 10, 100);
  EXPECT_DOUBLE_EQ(schedule.lr(0), 0.4);
  EXPECT_DOUBLE_EQ(schedule.lr(10), 2);
  EXPECT_DOUBLE_EQ(schedule.lr(100), 0.2);
}

TEST(Schedule, ShortRuns) {
  TrainOptions options;
  options.lr = 1;
  options.warmup_lr = 0.5;
  options.warmup_epochs = 20;
  const Schedule all_warmup(options, 10, 4);
  EXPECT_DOUBLE_EQ(all_warmup.lr(0), 0.5);
  EXPECT_DOUBLE_EQ(all_warmup.lr(3), 0.875);
  options.warmup_epochs = 0;
  const Schedule none(options, 10, 4);
  EXPECT_DOUBLE_EQ(none.lr(0), 1);
}

}  // namespace
}  // namespace vig::test
