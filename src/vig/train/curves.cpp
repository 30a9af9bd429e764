#include "vig/train/curves.h"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>

#include "vig/tasks/svg.h"

namespace vig::train {
namespace {

// "run" of "/photos/run/"; of ".", where it lies.
std::string last_name(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::string name = whole.filename().string();
  return name.empty() ? path : name;
}

}  // namespace

std::string curves_title(const std::string& run, const std::string& model,
                         const std::string& data) {
  return fmt::format("{}: {} on {}", last_name(run), model, last_name(data));
}

std::string loss_note(const TrainOptions& options, double drop_path) {
  const AugmentOptions& augment = options.augment;
  std::vector<std::string> on;
  const auto add = [&](bool is_on, std::string what) {
    if (is_on) on.push_back(std::move(what));
  };
  add(options.mix.smoothing > 0, fmt::format("label smoothing {}", options.mix.smoothing));
  const bool mixes = options.mix.probability > 0;
  add(mixes && options.mix.mixup > 0, "mixup");
  add(mixes && options.mix.cutmix > 0, "CutMix");
  add(drop_path > 0, fmt::format("drop path {:.4g}", drop_path));
  add(augment.crop != AugmentOptions::Crop::kCenter, "random crops");
  add(augment.flip > 0, "mirroring");
  add(augment.rand_augment_ops > 0, "RandAugment");
  add(augment.color_jitter > 0, "colour jitter");
  add(augment.erase > 0, "random erasing");
  add(augment.cutout > 0, "cutout");
  if (on.empty()) return "";
  return fmt::format(
      "The training loss may well lie above the validation loss: only training has {}{}.",
      fmt::join(on, ", "), options.ema > 0 ? ", and only validation uses averaged weights" : "");
}

std::string curves_svg(const CurvesInfo& info, const std::vector<MetricsRow>& rows) {
  ChartPanel loss{"loss", {{"training", {}}, {"validation", {}}}, {}};
  ChartPanel accuracy{"accuracy (%)", {{"training, top-1", {}}, {"validation, top-1", {}}}, {}};
  ChartPanel rate{"learning rate", {{"learning rate", {}}}, {}, 110};
  if (info.balanced) accuracy.series.push_back({"validation, balanced", {}});
  for (const MetricsRow& r : rows) {
    loss.series[0].points.emplace_back(r.epoch, r.train_loss);
    loss.series[1].points.emplace_back(r.epoch, r.val_loss);
    accuracy.series[0].points.emplace_back(r.epoch, 100 * r.train_top1);
    accuracy.series[1].points.emplace_back(r.epoch, 100 * r.val_top1);
    if (info.balanced) accuracy.series[2].points.emplace_back(r.epoch, 100 * r.val_balanced);
    rate.series[0].points.emplace_back(r.epoch, r.lr);
    const double best = info.balanced ? r.val_balanced : r.val_top1;
    if (r.step != info.best_step || !std::isfinite(best)) continue;
    accuracy.mark = ChartMark{r.epoch, 100 * best,
                              fmt::format("best: {:.2f} %{} at epoch {:.6g}", 100 * best,
                                          info.balanced ? " balanced" : "", r.epoch)};
    loss.mark = ChartMark{r.epoch, r.val_loss, fmt::format("{:.4f}", r.val_loss)};
  }
  const ChartPanel panels[] = {loss, accuracy, rate};
  return line_chart_svg(info.title, "epoch", panels, info.note);
}

}  // namespace vig::train
