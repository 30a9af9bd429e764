// What a benchmark times: a network, or a detector with all that happens between its networks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vig/pipeline/detect_trace.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/runner.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"

namespace vig {

struct BenchSetting {
  int height = 0;
  int width = 0;
  int batch = 1;
  int threads = 1;
};

// Values like a normalised image's, [height, width, 3], different for each image of a batch.
void fill_bench_image(int image, const BenchSetting& setting, float* out);

class BenchWork {
 public:
  virtual ~BenchWork() = default;

  // Once for all images of the batch.
  virtual void run() = 0;
  // All outputs of the last run.
  virtual std::vector<float> outputs() const = 0;
  virtual int threads() const = 0;
  virtual MacCount macs() const = 0;  // of one image
  virtual size_t arena_bytes() const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual size_t packed_bytes() const = 0;  // of the weights
  // Of all runs so far; empty unless it was made to be profiled.
  virtual std::vector<ProfileEntry> profile() const = 0;
  // Of a detector's last run: boxes that went through the box head, objects that went through the
  // mask head, and the largest score that all of these are above.
  virtual size_t proposals() const { return 0; }
  virtual size_t objects() const { return 0; }
  virtual float least_score() const { return 0; }
};

class NetworkWork final : public BenchWork {
 public:
  NetworkWork(std::shared_ptr<const PackedModel> model, const ModelSpec& spec,
              const BenchSetting& setting, bool profile);

  void run() override { session_.run(session_.batch()); }
  // The logits, or all outputs of a network that has none.
  std::vector<float> outputs() const override;
  int threads() const override { return session_.threads(); }
  MacCount macs() const override { return count_macs(session_.graph()); }
  size_t arena_bytes() const override { return session_.arena_bytes(); }
  size_t scratch_bytes() const override { return session_.scratch_bytes(); }
  size_t packed_bytes() const override { return session_.model()->bytes(); }
  std::vector<ProfileEntry> profile() const override { return session_.profile(); }

 private:
  Session session_;
};

// An image from the network's input to the masks of its objects. Objects are those above `score`.
class DetectorWork final : public BenchWork {
 public:
  DetectorWork(const ModelSource& source, const Precision& precision, const BenchSetting& setting,
               float score, bool profile);

  void run() override;
  std::vector<float> outputs() const override;
  int threads() const override { return detector_.runner().thread_pool()->size(); }
  // Of the image's network and of the heads, once for every box and every object of the last run.
  MacCount macs() const override;
  size_t arena_bytes() const override { return trace_.arena_bytes; }
  size_t scratch_bytes() const override { return trace_.scratch_bytes; }
  size_t packed_bytes() const override { return detector_.runner().sessions().model().bytes(); }
  // The stages of a detection instead of the kinds of operations.
  std::vector<ProfileEntry> profile() const override;

  size_t proposals() const override { return trace_.proposals.size(); }
  size_t objects() const override { return found_.size(); }
  float least_score() const override;

 private:
  MacCount stage_macs(const std::string& stage) const;

  Detector detector_;
  RunImage image_;
  std::vector<MacCount> graph_macs_;  // of the image, a box and a mask
  bool profile_;
  int runs_ = 0;
  DetectTrace trace_;
  Detections found_;
  std::vector<std::pair<std::string, double>> stages_;  // of all runs
};

}  // namespace vig
