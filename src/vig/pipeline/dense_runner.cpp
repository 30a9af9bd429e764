#include "vig/pipeline/dense_runner.h"

#include <algorithm>
#include <new>
#include <utility>

#include "vig/base/processors.h"
#include "vig/data/loader.h"
#include "vig/data/order.h"
#include "vig/runtime/packed_model.h"
#include "vig/weights/model_info.h"

namespace vig {
namespace {

// Where the file decides on the size: 16 million pixels are 200 MB of floats.
constexpr int64_t kMostOwnPixels = int64_t{1} << 24;

// What the loader carries along: the image itself, which it would drop.
struct Carried {
  DenseImage item;
  std::string problem;  // of preparing it
};

// Hands each image on with itself as target.
class CarriedImages final : public SampleSource {
 public:
  explicit CarriedImages(const SampleSource& images) : images_(images) {}

  size_t size() const override { return images_.size(); }
  std::string place(size_t sample) const override { return images_.place(sample); }
  std::string path(size_t sample) const override { return images_.path(sample); }
  Sample load(size_t sample) const override {
    Sample loaded = images_.load(sample);
    auto carried = std::make_shared<Carried>();
    carried->item.index = sample;
    carried->item.image = loaded.image;
    carried->item.target = std::move(loaded.target);
    return {std::move(loaded.image), std::move(carried)};
  }

 private:
  const SampleSource& images_;
};

}  // namespace

DenseRunner::DenseRunner(const ModelSource& source, const RunOptions& options, ModelTask task)
    : name_(source.name), spec_(source.spec), classes_(source.classes), options_(options) {
  check_task(source, task);
  own_size_ = options.size == 0;
  file_bytes_ = source.has_weights() ? source.checkpoint->file_bytes() : 0;
  if (source.has_weights()) smallest_scale_ = read_smallest_scale(source.checkpoint->metadata());
  recipe_ = own_size_ ? spec_.recipe : spec_.recipe.with_size(options.size);
  if (recipe_.framing == Framing::kCrop) {
    fail("{}: its images are cropped, expected a recipe for whole ones", name_);
  }
  if (own_size_ && source.has_weights()) check_own_work(source);
  const int side = spec_.recipe.crop;
  graphs_ = build_graphs(spec_, side, side);
  if (task == ModelTask::kSegment) graphs_.resize(1);  // the others are for training
  model_ = PackedModel::make(graphs_, source_weights(source), options.precision);
  SessionOptions session;
  session.threads = options.threads;
  session.team = options.team;
  Session first(model_, graphs_[0], session);
  team_ = first.team();
  const int asked = options.threads > 0 ? options.threads : default_threads();
  if (first.threads() < asked && options.on_fewer_threads) {
    options.on_fewer_threads(first.threads(), asked);
  }
  sessions_ = std::make_unique<SessionPool>(
      std::move(first),
      [spec = spec_, file = name_, bytes = file_bytes_, check = own_size_ && source.has_weights()](
          int height, int width) {
        Graph graph = build_graph(spec, height, width);
        if (check) check_work(file, bytes, graph, 1);
        return graph;
      },
      options.session_bytes);
}

std::unique_ptr<SessionPool> DenseRunner::further_sessions(const std::string& input,
                                                           int batch) const {
  const auto graph =
      std::ranges::find_if(graphs_, [&](const Graph& one) { return one.find_input(input) >= 0; });
  if (graph == graphs_.end()) return nullptr;
  if (own_size_ && file_bytes_ > 0) check_work(name_, file_bytes_, *graph, batch);
  SessionOptions options;
  options.batch = batch;
  options.team = team_;
  Session first(model_, *graph, options);
  return std::make_unique<SessionPool>(
      std::move(first), [graph = *graph](int, int) { return graph; }, options_.session_bytes);
}

void DenseRunner::check_windows(const Placement& placement, int side, int64_t windows) const {
  if (windows == 1 || file_bytes_ == 0) return;
  const int height = placement.input_height, width = placement.input_width;
  const auto session = sessions_->take(std::min(height, side), std::min(width, side), 1);
  constexpr double kUsualPixels = 512 * 512;
  const double scale = own_size_ ? 1 : std::max(1.0, double(height) * width / kUsualPixels);
  vig::check_windows(name_, file_bytes_, session->graph(), windows, scale);
}

void DenseRunner::prepare(const Image& pixels, DenseImage& image) const {
  image.placement = place(recipe_, pixels.width, pixels.height);
  const int height = image.placement.input_height, width = image.placement.input_width;
  check_input_size(height, width);
  if (own_size_ && int64_t{height} * width > kMostOwnPixels) {
    fail(
        "an input of {}x{} by the recipe in {}, expected at most {} pixels; give --size N for a "
        "smaller one",
        height, width, name_, kMostOwnPixels);
  }
  image.input.resize(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  preprocess(pixels, recipe_, image.input.data());
  check_scale(image);
}

void DenseRunner::check_scale(DenseImage& image) const {
  // A file that does not say it counts as one whose training shrank no image.
  constexpr double kAllowed = 1.5;
  const double smallest = std::min(1.0, smallest_scale_.value_or(1.0));
  const double scale = std::min(image.placement.scale_x(), image.placement.scale_y());
  if (scale * kAllowed >= smallest) return;
  const std::string training =
      smallest_scale_ ? fmt::format(", in training at most {:.1f} times", 1 / smallest) : "";
  image.warnings.push_back(
      {kShrunkWarning, fmt::format("the network sees the image {:.1f} times smaller{}: small "
                                   "objects may be missed or mistaken; give a larger --size than "
                                   "{}, or parts of the image",
                                   1 / scale, training, recipe_.resize)});
}

bool DenseRunner::run(const SampleSource& images, const Pass& pass) const {
  const std::vector<size_t> order = pass.order.empty() ? plain_order(images.size()) : pass.order;
  const auto batches = make_batches(order, 1, LastBatch::kKeep);
  const CarriedImages carried(images);
  // One worker: images then come in their order, and none waits for memory that a later one
  // holds.
  Loader loader({std::shared_ptr<const void>(), &carried},
                {.workers = order.size() > 1 ? 1 : 0, .ahead = 1});
  loader.start(batches, 1, [&](const Loader::Slot&, const Image& image, Target& target, float*) {
    Carried& one = *std::any_cast<std::shared_ptr<Carried>&>(target);
    try {
      prepare(image, one.item);
    } catch (const Error& error) {
      one.problem = error.what();
    } catch (const std::bad_alloc&) {
      one.problem = "not enough memory";
    }
  });
  while (Batch* batch = loader.next()) {
    const size_t sample_index = batches[batch->index].front();
    const auto report = [&](const std::string& sentence) {
      if (pass.on_problem) pass.on_problem(sample_index, sentence);
    };
    if (!batch->targets.empty()) {
      const auto one = std::any_cast<std::shared_ptr<Carried>>(batch->targets.front());
      batch->targets.clear();
      std::string problem = one->problem;
      try {
        if (problem.empty()) pass.on_image(one->item);
      } catch (const Error& error) {
        problem = error.what();
      } catch (const std::bad_alloc&) {
        problem = "not enough memory";
      }
      if (!problem.empty()) report(fmt::format("{}: {}", images.place(sample_index), problem));
    } else if (!batch->problems.empty()) {
      report(batch->problems.front().sentence);
    }
    const bool last = batch->index + 1 == batches.size();
    if (pass.on_done && !pass.on_done() && !last) return false;
  }
  return true;
}

}  // namespace vig
