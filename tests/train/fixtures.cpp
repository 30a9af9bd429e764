#include "train/fixtures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tree.h"
#include "vig/base/random.h"
#include "vig/train/presets.h"
#include "vig/weights/safetensors.h"

namespace vig::test {

namespace fs = std::filesystem;
using train::TrainOptions;

Files striped_images(int classes, int each) {
  constexpr int kSide = 24;
  Files files;
  for (int c = 0; c < classes; ++c) {
    const double angle = 3.1415926 * c / classes;
    for (int number = 0; number < each; ++number) {
      RandomStream stream = RandomStream(1).fork(static_cast<uint64_t>(c * 1000 + number));
      const double start = 6.3 * stream.uniform();
      Image image(kSide, kSide);
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          const double wave = std::sin(start + x * std::cos(angle) + y * std::sin(angle));
          for (int channel = 0; channel < 3; ++channel) {
            const double strength = channel == c % 3 ? 90 : 30;
            const double value = 128 + strength * wave + 25 * (stream.uniform() - 0.5);
            image.row(y)[x * 3 + channel] = static_cast<uint8_t>(value);
          }
        }
      }
      files["class" + std::to_string(c) + "/" + std::to_string(number) + ".png"] = png_bytes(image);
    }
  }
  return files;
}

TrainOptions tiny_options(const std::string& preset) {
  TrainOptions options = train::preset_options(preset);
  options.model = "test_vig";
  options.fields = {{"embed_dim", "32"}, {"heads", "2"}, {"patch_size", "8"}};
  options.size = 24;
  options.batch = 16;
  options.threads = 2;
  return options;
}

train::TrainEvents record_events(RunRecord& record, int64_t stop_at) {
  train::TrainEvents events;
  events.begin = [&](const train::RunSummary& summary) { record.summary = summary; };
  events.step = [&](const train::StepReport& report) {
    record.losses.push_back(report.loss);
    record.lrs.push_back(report.lr);
    record.gradient_norms.push_back(report.gradient_norm);
  };
  events.row = [&](const train::MetricsRow& row, double) { record.rows.push_back(row); };
  events.problem = [&](const std::string& sentence) { record.problems.push_back(sentence); };
  events.stop = [&record, stop_at] {
    return record.summary.first_step + static_cast<int64_t>(record.losses.size()) == stop_at;
  };
  return events;
}

RunRecord run_training(const TrainOptions& options, const std::string& data, const std::string& out,
                       int64_t stop_at) {
  RunRecord record;
  const train::TrainEvents events = record_events(record, stop_at);
  train::Group alone;
  record.result = train::train(options, data, out, events, alone);
  return record;
}

std::map<std::string, std::string> tensor_bytes(const fs::path& file) {
  std::map<std::string, std::string> tensors;
  const SafeTensors opened = SafeTensors::open(file.string());
  for (const NamedTensor& tensor : opened.tensors()) {
    tensors[tensor.name] =
        std::string(static_cast<const char*>(tensor.view.data), tensor.view.bytes());
  }
  return tensors;
}

void expect_same_runs(const fs::path& actual, const fs::path& expected) {
  for (const char* file : {"best.safetensors", "last.safetensors"}) {
    EXPECT_TRUE(read_file(actual / file) == read_file(expected / file)) << file;
  }
  const auto tensors = tensor_bytes(actual / "checkpoint.safetensors");
  const auto others = tensor_bytes(expected / "checkpoint.safetensors");
  EXPECT_EQ(tensors.size(), others.size());
  for (const auto& [name, bytes] : others) EXPECT_TRUE(tensors.at(name) == bytes) << name;
}

std::vector<std::string> signal_at(const std::string& point) {
  return {std::string("LD_PRELOAD=") + kSignalLibrary, "VIG_SIGNAL_AT=" + point};
}

}  // namespace vig::test
