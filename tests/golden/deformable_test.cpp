// Deformable attention against float64 results of the original: the sampling with its gradients,
// the module in the engine, and fresh offsets.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "golden/deformable_module.h"
#include "golden/operator_case.h"
#include "kernels/on_targets.h"
#include "support/files.h"
#include "vig/kernels/reference/deformable.h"
#include "vig/runtime/session.h"
#include "vig/weights/load.h"

namespace vig {
namespace {

using test::OperatorCase;

double distance(const std::vector<float>& found, const std::vector<float>& want) {
  double largest = 0.0;
  EXPECT_EQ(found.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(found[i]) - want[i]);
    largest = std::isnan(apart) ? INFINITY : std::max(largest, apart);
  }
  return largest;
}

// A case of the sampling alone. It gives positions in 0..1 of the map and weights; the kernels take
// offsets from the queries, which stand in one row here, and logits.
class Sampling {
 public:
  explicit Sampling(const std::string& name) : file_(name, "dense") {
    const Shape& positions = file_.view("sampling_locations").shape;
    batch_ = positions[0], queries_ = {{1, positions[1]}}, heads_ = positions[2],
    points_ = positions[4];
    const auto sizes = static_cast<const int64_t*>(file_.view("spatial_shapes").data);
    for (int64_t l = 0; l < positions[3]; ++l) levels_.push_back({sizes[2 * l], sizes[2 * l + 1]});
    values = file_.read("value");
    weights = file_.read("attention_weights");
    for (const float weight : weights) logits.push_back(std::log(weight));
    const std::vector<float> locations = file_.read("sampling_locations");
    for (size_t i = 0; i < locations.size(); ++i) {
      const int64_t query = static_cast<int64_t>(i) / (2 * samples()) % positions[1];
      const double middle =
          i % 2 == 0 ? (static_cast<double>(query) + 0.5) / static_cast<double>(positions[1]) : 0.5;
      offsets.push_back(static_cast<float>((locations[i] - middle) * size(i)));
    }
    width_ = file_.view("output").shape[2];
    output.resize(file_.read("output").size());
  }

  const OperatorCase& file() const { return file_; }
  int64_t samples() const { return heads_ * static_cast<int64_t>(levels_.size()) * points_; }
  int64_t batch() const { return batch_; }
  // Of the axis and level that number i of the positions belongs to.
  double size(size_t i) const {
    const auto& map = levels_[i / 2 / static_cast<size_t>(points_) % levels_.size()];
    return static_cast<double>(i % 2 == 0 ? map.width : map.height);
  }
  DeformableArgs args(int64_t image) {
    DeformableArgs args;
    args.levels = levels_.data();
    args.level_count = static_cast<int64_t>(levels_.size());
    args.queries = queries_.data();
    args.query_grids = 1;
    args.heads = heads_;
    args.points = points_;
    args.head_dim = width_ / heads_;
    args.values = part(values, image);
    args.values_stride = args.out_stride = width_;
    args.offsets = part(offsets, image);
    args.offsets_stride = 2 * samples();
    args.logits = part(logits, image);
    args.logits_stride = samples();
    args.out = part(output, image);
    args.last_query = queries_[0].width;
    return args;
  }
  float* part(std::vector<float>& all, int64_t image) const {
    return all.data() + static_cast<int64_t>(all.size()) / batch_ * image;
  }
  int64_t width() const { return width_; }

  std::vector<float> values, offsets, weights, logits, output;

 private:
  OperatorCase file_;
  int64_t batch_, heads_, points_, width_;
  std::vector<DeformableGrid> levels_, queries_;
};

using Forward = void (*)(const DeformableArgs&);
using Backward = void (*)(const DeformableBackwardArgs&);

double forward_error(const std::string& name, Forward forward) {
  Sampling s(name);
  for (int64_t i = 0; i < s.batch(); ++i) forward(s.args(i));
  return distance(s.output, s.file().read("output"));
}

// The largest error of the gradients of values, positions and weights.
double gradient_error(const std::string& name, Backward backward) {
  Sampling s(name);
  std::vector<float> grad_out = s.file().read("do");
  std::vector<float> dvalues(s.values.size(), 0.0f), doffsets(s.offsets.size()),
      dlogits(s.logits.size());
  for (int64_t i = 0; i < s.batch(); ++i) {
    DeformableBackwardArgs args;
    args.forward = s.args(i);
    args.grad_out = s.part(grad_out, i);
    args.grad_out_stride = args.dvalues_stride = s.width();
    args.dvalues = s.part(dvalues, i);
    args.doffsets = s.part(doffsets, i);
    args.doffsets_stride = 2 * s.samples();
    args.dlogits = s.part(dlogits, i);
    args.dlogits_stride = s.samples();
    backward(args);
  }
  for (size_t i = 0; i < doffsets.size(); ++i) {
    doffsets[i] = static_cast<float>(doffsets[i] * s.size(i));
  }
  // The case has the gradient of the weights; that of the logits follows by the softmax.
  const std::vector<float> dweights = s.file().read("grad/attention_weights");
  const size_t of_head = static_cast<size_t>(s.samples()) / 4;
  std::vector<float> want(dweights.size());
  for (size_t i = 0; i < want.size(); ++i) {
    double mean = 0.0;
    for (size_t k = i / of_head * of_head; k < (i / of_head + 1) * of_head; ++k) {
      mean += static_cast<double>(s.weights[k]) * dweights[k];
    }
    want[i] = static_cast<float>(s.weights[i] * (dweights[i] - mean));
  }
  return std::max({distance(dvalues, s.file().read("grad/value")),
                   distance(doffsets, s.file().read("grad/sampling_locations")),
                   distance(dlogits, want)});
}

class DeformableGoldenOnTarget : public test::OnTarget {};

TEST_P(DeformableGoldenOnTarget, MatchesTheGoldenCases) {
  EXPECT_LE(forward_error("msda-core", deformable), 1e-5);
  EXPECT_LE(forward_error("msda-lattice", deformable), 1e-5);
  EXPECT_LE(gradient_error("msda-core", deformable_backward), 1e-4);
}

VIG_ON_EVERY_TARGET(DeformableGoldenOnTarget);

TEST(DeformableReferenceGolden, MatchesTheGoldenCases) {
  EXPECT_LE(forward_error("msda-core", reference::deformable), 1e-5);
  EXPECT_LE(forward_error("msda-lattice", reference::deformable), 1e-5);
  EXPECT_LE(gradient_error("msda-core", reference::deformable_backward), 1e-4);
}

TEST(DeformableModuleGolden, TheEngineMatchesTheGoldenCases) {
  for (const test::DeformableModule& module : test::deformable_modules()) {
    const OperatorCase golden(module.name, "dense");
    const Graph graph = module.graph();
    const test::TempDir folder;
    std::vector<NamedTensor> tensors;
    for (const ParamSpec& spec : graph.params) {
      const TensorView& view = golden.view(test::DeformableModule::tensor_of(spec.name));
      tensors.push_back({spec.name, view});
    }
    const std::string file = (folder / "weights.safetensors").string();
    write_safetensors(file, tensors);
    const auto weights =
        load_weights(graph.params, std::make_shared<Checkpoint>(Checkpoint::open(file)));
    SessionOptions options;
    options.batch = 2;
    options.threads = 2;
    Session session(graph, weights, options);
    const std::vector<float> query = golden.read("query"), feat = golden.read("feat");
    const std::vector<float> want = golden.read("output");
    for (int image : {0, 1}) {
      std::copy_n(query.begin() + image * static_cast<int64_t>(query.size()) / 2, query.size() / 2,
                  session.input("query", image));
      std::copy_n(feat.begin() + image * static_cast<int64_t>(feat.size()) / 2, feat.size() / 2,
                  session.input("feat", image));
    }
    session.run(2);
    std::vector<float> found;
    for (int image : {0, 1}) {
      const float* output = session.output("output", image);
      found.insert(found.end(), output, output + want.size() / 2);
    }
    EXPECT_LE(distance(found, want), 2e-5) << module.name;
  }
}

// With fresh weights offsets do not depend on the query, and all samples count the same.
TEST(DeformableModuleGolden, FreshOffsetsPointInAllDirections) {
  const OperatorCase golden("msda-init", "dense");
  for (const int heads : {6, 12, 16}) {
    for (const size_t levels : {1, 3}) {
      const test::DeformableModule module{
          "", {heads, 4, 48, std::vector<GridSize>(levels, {2, 2}), {{2, 2}}}};
      const Graph graph = module.graph();
      size_t zeros = 0;
      for (const ParamSpec& spec : graph.params) {
        std::vector<float> values(static_cast<size_t>(spec.shape.elements()), 1.0f);
        fill_random(spec, 1, values.data());
        if (spec.name == "attn.sampling_offsets.bias") {
          const std::string name = "bias/heads" + std::to_string(heads) + "_levels" +
                                   std::to_string(levels) + "_points4";
          EXPECT_LE(distance(values, golden.read(name)), 1e-6) << name;
        } else if (spec.name.find("value_proj.weight") != std::string::npos ||
                   spec.name.find("output_proj.weight") != std::string::npos) {
          EXPECT_GT(distance(values, std::vector<float>(values.size())), 0.1);
        } else {
          EXPECT_EQ(distance(values, std::vector<float>(values.size())), 0.0) << spec.name;
          ++zeros;
        }
      }
      EXPECT_EQ(zeros, 5u);
    }
  }
}

}  // namespace
}  // namespace vig
