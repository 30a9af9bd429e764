#include "vig/train/options.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "vig/base/error.h"

namespace vig::train {
namespace {

constexpr std::pair<AugmentOptions::Crop, std::string_view> kCropNames[] = {
    {AugmentOptions::Crop::kCenter, "center"},
    {AugmentOptions::Crop::kResized, "resized"},
    {AugmentOptions::Crop::kPadded, "padded"},
};

template <class Number>
void parse(const std::string& name, const std::string& text, Number& value) {
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_usage("--{} is '{}', expected a {}number", name, text,
               std::is_integral_v<Number> ? "whole " : "");
  }
  value = parsed;
}
void parse(const std::string&, const std::string& text, std::string& value) { value = text; }
void parse(const std::string& name, const std::string& text, bool& value) {
  if (text != "true" && text != "false") {
    fail_usage("--{} is '{}', expected true or false", name, text);
  }
  value = text == "true";
}
void parse(const std::string& name, const std::string& text, AugmentOptions::Crop& value) {
  for (const auto& [crop, crop_name] : kCropNames) {
    if (crop_name == text) {
      value = crop;
      return;
    }
  }
  fail_usage("--{} is '{}', expected center, resized or padded", name, text);
}

template <class Value>
std::string text_of(const Value& value) {
  return fmt::format("{}", value);
}
std::string text_of(const bool& value) { return value ? "true" : "false"; }
std::string text_of(const AugmentOptions::Crop& value) {
  for (const auto& [crop, name] : kCropNames) {
    if (crop == value) return std::string(name);
  }
  return "";
}

// "8,11"
std::vector<double> parse_list(const std::string& name, const std::string& text) {
  std::vector<double> values;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    parse(name, text.substr(start, end - start), values.emplace_back());
    start = end + 1;
  }
  return values;
}

void expect(bool good, const char* name, double value, const char* expected) {
  if (!good) fail_usage("--{} is {}, expected {}", name, value, expected);
}

// The number of the card, -1 for the processor.
int card_of(const std::string& device) {
  constexpr std::string_view kNumbered = "cuda:";
  if (device == "cpu") return -1;
  if (device == "cuda") return 0;
  if (!device.starts_with(kNumbered)) {
    fail_usage("--device is '{}', expected cpu or cuda", device);
  }
  const char *begin = device.data() + kNumbered.size(), *end = device.data() + device.size();
  int number = 0;
  const auto [last, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || last != end || number < 0) {
    fail_usage("--device is '{}', expected a card's number after cuda:", device);
  }
  return number;
}

}  // namespace

void set_option(TrainOptions& options, const std::string& name, const std::string& text) {
  bool found = false;
  visit_options(options, [&](const char* option, auto& value, const char*) {
    if (name != option) return;
    parse(name, text, value);
    found = true;
  });
  if (!found) fail_usage("there is no training option --{}", name);
  if (name == "epochs") options.steps = 0;
}

std::map<std::string, std::string> option_texts(const TrainOptions& options) {
  std::map<std::string, std::string> texts;
  visit_options(options, [&](const char* name, const auto& value, const char*) {
    texts[name] = text_of(value);
  });
  return texts;
}

std::vector<double> lr_drop_epochs(const TrainOptions& options) {
  const std::vector<double> epochs = parse_list("lr-drops", options.lr_drops);
  if (!std::ranges::all_of(epochs, [](double epoch) { return epoch >= 0 && epoch <= 1e9; })) {
    fail_usage("--lr-drops is '{}', expected epochs from 0 on", options.lr_drops);
  }
  return epochs;
}

std::vector<double> class_weight_list(const TrainOptions& options) {
  const std::string& text = options.class_weights;
  if (text == "none" || text == "balanced") return {};
  const std::vector<double> weights = parse_list("class-weights", text);
  const bool good = std::ranges::all_of(weights, [](double w) { return w >= 0 && w <= 1e6; });
  if (!good || std::ranges::all_of(weights, [](double w) { return w == 0; })) {
    fail_usage(
        "--class-weights is '{}', expected none, balanced, or numbers from 0 to 1000000 of which "
        "one is above 0",
        text);
  }
  return weights;
}

int loss_group(const TrainOptions& options) {
  return options.loss_group > 0 ? options.loss_group : options.norm_group;
}

void check_device(const std::string& device) {
  const int card = card_of(device);
  if (card < 0) return;
  if (!at::hasCUDA() || card >= c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount()) {
    fail_usage("--device is {}, but LibTorch finds no such card here or was built without", device);
  }
}

void check_options(const TrainOptions& o) {
  constexpr double kHuge = 1e9;
  const auto in = [](double x, double low, double high) { return x >= low && x <= high; };
  expect(in(o.epochs, 1e-6, kHuge), "epochs", o.epochs, "a positive number");
  expect(o.steps >= 0 && o.steps <= int64_t{1} << 40, "steps", static_cast<double>(o.steps),
         "0 to 1099511627776");
  expect(in(o.batch, 1, 1 << 20), "batch", o.batch, "1 to 1048576");
  expect(in(o.accumulate, 0, o.batch), "accumulate", o.accumulate, "0 to the batch");
  expect(o.max_pixels >= 1, "max-pixels", static_cast<double>(o.max_pixels), "at least 1");
  expect(in(o.val_share, 0, 0.9), "val-share", o.val_share, "0 to 0.9");
  expect(in(o.loaders, 0, 256), "loaders", o.loaders, "0 to 256");
  expect(in(o.threads, 0, 1024), "threads", o.threads, "0 to 1024");
  expect(in(o.size, 0, 8192), "size", o.size, "0 to 8192");
  expect(in(o.eval_every, 1e-6, kHuge), "eval-every", o.eval_every, "a positive number");
  expect(in(o.patience, 0, 1 << 30), "patience", o.patience, "at least 0");
  expect(in(o.norm_group, 1, 1 << 20), "norm-group", o.norm_group, "1 to 1048576");
  const int least = std::min(o.norm_group, loss_group(o)),
            most = std::max(o.norm_group, loss_group(o));
  expect(o.loss_group >= 0 && o.loss_group <= 1 << 20 && most % least == 0, "loss-group",
         o.loss_group, "0, a divisor or a multiple of --norm-group, at most 1048576");
  expect(in(o.preview, 0, 10000), "preview", o.preview, "0 to 10000");
  expect(in(o.proposal_samples, 1, 1 << 20), "proposal-samples", o.proposal_samples,
         "1 to 1048576");
  expect(in(o.box_samples, 1, 1 << 20), "box-samples", o.box_samples, "1 to 1048576");
  expect(in(o.lr, 0, 100), "lr", o.lr, "0 to 100");
  expect(in(o.lr_batch, 0, kHuge), "lr-batch", o.lr_batch, "0 or a batch");
  expect(in(o.min_lr, 0, 100), "min-lr", o.min_lr, "0 to 100");
  expect(in(o.warmup_lr, 0, 100), "warmup-lr", o.warmup_lr, "0 to 100");
  expect(in(o.warmup_epochs, 0, kHuge), "warmup-epochs", o.warmup_epochs, "at least 0");
  expect(in(o.warmup_steps, 0, kHuge), "warmup-steps", o.warmup_steps, "at least 0");
  expect(in(o.weight_decay, 0, 100), "weight-decay", o.weight_decay, "0 to 100");
  expect(in(o.beta1, 0, 0.999999), "beta1", o.beta1, "0 to below 1");
  expect(in(o.beta2, 0, 0.9999999), "beta2", o.beta2, "0 to below 1");
  expect(in(o.adam_eps, 1e-30, 1), "adam-eps", o.adam_eps, "1e-30 to 1");
  expect(in(o.clip, 0, kHuge), "clip", o.clip, "at least 0");
  expect(in(o.layer_decay, 0.01, 1), "layer-decay", o.layer_decay, "0.01 to 1");
  expect(in(o.ema, 0, 0.9999999), "ema", o.ema, "0 to below 1");
  expect(in(o.checkpoint_minutes, 0, kHuge), "checkpoint-minutes", o.checkpoint_minutes,
         "at least 0");
  expect(in(o.group_timeout, 0.1, 1e6), "group-timeout", o.group_timeout, "0.1 to 1000000");
  card_of(o.device);
  check_augment_options(o.augment);
  check_mixup_options(o.mix);
  check_view_options(o.view);
  if (!o.task.empty() && o.task != "classify" && o.task != "segment" && o.task != "detect") {
    fail_usage("--task is '{}', expected classify, segment or detect", o.task);
  }
  if (o.schedule != "cosine" && o.schedule != "linear" && o.schedule != "steps") {
    fail_usage("--schedule is '{}', expected cosine, linear or steps", o.schedule);
  }
  if (o.sampling != "natural" && o.sampling != "balanced") {
    fail_usage("--sampling is '{}', expected natural or balanced", o.sampling);
  }
  lr_drop_epochs(o);
  class_weight_list(o);
}

}  // namespace vig::train
