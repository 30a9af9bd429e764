#include "vig/train/model_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace vig::train {
namespace {

struct Rates {
  std::optional<double> lr = {}, weight_decay = {}, layer_decay = {};
  std::optional<int> warmup_steps = {};
};

struct ModelRates {
  std::string_view preset;
  std::string_view start, end;  // of the backbone's name: "vig_h_" and "s"
  Rates rates;
};

// The presets have those of the tiny plain model. The first row that fits counts. The hierarchical
// ones have no dense recipe in print; theirs is the usual one of such backbones.
const ModelRates kModelRates[] = {
    {"imagenet", "vig_h_", "t", {.lr = 8e-4}},
    {"imagenet", "vig_h_", "", {.lr = 5e-4}},
    {"imagenet", "vig_", "s", {.lr = 5e-4, .weight_decay = 0.1}},
    {"ade20k", "vig_h_", "", {.lr = 6e-5, .layer_decay = 1}},
    {"ade20k", "swin_", "", {.lr = 6e-5, .layer_decay = 1}},
    {"ade20k", "", "_s", {.lr = 6e-5, .layer_decay = 0.85}},
    {"ade20k", "", "_b", {.lr = 6e-5, .layer_decay = 0.8}},
    {"coco", "vig_h_", "", {.layer_decay = 1, .warmup_steps = 1000}},
};

std::string backbone_name(const TrainOptions& options) {
  std::string name = options.arch.empty() ? options.model : options.arch;
  for (const std::string_view head : {"_upernet", "_maskrcnn"}) {
    if (name.ends_with(head)) name.resize(name.size() - head.size());
  }
  return name;
}

}  // namespace

std::string fit_to_model(TrainOptions& options, const std::map<std::string, std::string>& given) {
  const std::string name = backbone_name(options);
  const auto row = std::ranges::find_if(kModelRates, [&](const ModelRates& known) {
    return known.preset == options.preset && name.starts_with(known.start) &&
           name.ends_with(known.end);
  });
  if (row == std::end(kModelRates)) return "";
  std::string changes;
  const auto set = [&](const char* option, const auto& wanted, auto& value) {
    if (!wanted.has_value() || given.contains(option) || value == *wanted) return;
    value = *wanted;
    changes += fmt::format(" --{} {}", option, value);
  };
  const double lr = options.lr;
  set("lr", row->rates.lr, options.lr);
  if (options.preset == "ade20k") {  // a millionth of the rate
    set("warmup-lr", std::optional(options.warmup_lr * options.lr / lr), options.warmup_lr);
  }
  set("warmup-steps", row->rates.warmup_steps, options.warmup_steps);
  set("weight-decay", row->rates.weight_decay, options.weight_decay);
  set("layer-decay", row->rates.layer_decay, options.layer_decay);
  return changes;
}

}  // namespace vig::train
