#include "vig/bench/work.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/pipeline/detect_trace.h"
#include "vig/pipeline/runner.h"

namespace vig {
namespace {

void check_threads(int started, int asked) {
  if (started >= asked) return;
  fail("{} of {} threads can be started: the system's limit of threads or of memory is reached",
       started, asked);
}

MacCount times(MacCount count, size_t factor) {
  count.dense *= static_cast<int64_t>(factor);
  count.scan *= static_cast<int64_t>(factor);
  return count;
}

// An image that fills the network's input and is stored in that size.
RunImage bench_image(const BenchSetting& setting) {
  RunImage image;
  image.placement = {setting.width, setting.height, setting.width, setting.height, 0, 0,
                     setting.width, setting.height};
  std::vector<float> input(static_cast<size_t>(setting.height) *
                           static_cast<size_t>(setting.width) * 3);
  fill_bench_image(0, setting, input.data());
  image.write = [input = std::move(input)](float* out) { std::ranges::copy(input, out); };
  return image;
}

}  // namespace

void fill_bench_image(int image, const BenchSetting& setting, float* out) {
  const int64_t count = int64_t{setting.height} * setting.width * 3;
  uint32_t state = 12345u + 7919u * static_cast<uint32_t>(image);
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    out[i] = static_cast<float>(state >> 8) * 0x1p-22f - 2.0f;
  }
}

NetworkWork::NetworkWork(std::shared_ptr<const PackedModel> model, const ModelSpec& spec,
                         const BenchSetting& setting, bool profile)
    : session_(
          std::move(model), build_graph(spec, setting.height, setting.width),
          {.batch = setting.batch, .threads = setting.threads, .profile = profile, .keep = {}}) {
  check_threads(session_.threads(), setting.threads);
  for (int image = 0; image < setting.batch; ++image) {
    fill_bench_image(image, setting, session_.input(image));
  }
}

std::vector<float> NetworkWork::outputs() const {
  const Graph& graph = session_.graph();
  const bool logits = graph.find_output("logits") >= 0;
  std::vector<float> all;
  for (int image = 0; image < session_.batch(); ++image) {
    for (const Output& output : graph.outputs) {
      if (logits && output.name != "logits") continue;
      const float* values = session_.output(output.name, image);
      all.insert(all.end(), values, values + graph.node(output.node).grid.elements());
    }
  }
  return all;
}

DetectorWork::DetectorWork(const ModelSource& source, const Precision& precision,
                           const BenchSetting& setting, float score, bool profile)
    : detector_(source, {.threads = setting.threads, .precision = precision}, {.score = score}),
      image_(bench_image(setting)),
      profile_(profile) {
  check_threads(threads(), setting.threads);
  for (const Graph& graph : build_graphs(source.spec, setting.height, setting.width)) {
    graph_macs_.push_back(count_macs(graph));
  }
}

void DetectorWork::run() {
  found_ = detector_.detect(image_, &trace_);
  ++runs_;
  if (!profile_) return;
  stages_.resize(trace_.stages.size());
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].first = trace_.stages[i].first;
    stages_[i].second += trace_.stages[i].second;
  }
}

std::vector<float> DetectorWork::outputs() const {
  std::vector<float> all;
  for (const Detection& one : found_) {
    all.insert(all.end(), {one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.score,
                           static_cast<float>(one.label)});
    for (const uint32_t run : one.mask.runs) all.push_back(static_cast<float>(run));
  }
  return all;
}

MacCount DetectorWork::stage_macs(const std::string& stage) const {
  if (stage == kImageStage) return graph_macs_.at(0);
  if (stage == kBoxStage) return times(graph_macs_.at(1), proposals());
  if (stage == kMaskStage) return times(graph_macs_.at(2), objects());
  return {};
}

MacCount DetectorWork::macs() const {
  MacCount all;
  for (const char* stage : {kImageStage, kBoxStage, kMaskStage}) all += stage_macs(stage);
  return all;
}

std::vector<ProfileEntry> DetectorWork::profile() const {
  std::vector<ProfileEntry> entries;
  for (const auto& [stage, seconds] : stages_) {
    entries.push_back(
        {stage, seconds * threads(), times(stage_macs(stage), static_cast<size_t>(runs_))});
  }
  return entries;
}

float DetectorWork::least_score() const {
  return found_.empty() ? 0.0f : std::nextafter(found_.back().score, 0.0f);
}

}  // namespace vig
