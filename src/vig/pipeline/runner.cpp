#include "vig/pipeline/runner.h"

#include <algorithm>
#include <new>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/base/processors.h"
#include "vig/data/loader.h"
#include "vig/data/order.h"
#include "vig/runtime/packed_model.h"
#include "vig/weights/model_info.h"

namespace vig {
namespace {

// Where the file decides on the size: 16 million pixels are 200 MB of floats.
constexpr int64_t kMostOwnPixels = int64_t{1} << 24;

uint64_t most_bytes(const RunOptions& options) {
  return options.activation_bytes.value_or(physical_memory() / 4);
}

}  // namespace

Runner::Runner(const ModelSource& source, const RunOptions& options, ModelTask task)
    : name_(source.name),
      spec_(source.spec),
      classes_(source.classes),
      confidence_(source.confidence),
      options_(options) {
  check_task(source, task);
  if (options.batch < 0) fail_usage("a batch of {} images, expected at least 1", options.batch);
  if (crops() != (task == ModelTask::kClassify)) {
    fail("{}: its images are {}cropped, expected a recipe for {} ones", name_,
         crops() ? "" : "not ", crops() ? "whole" : "cropped");
  }
  if (source.has_weights()) {
    file_bytes_ = source.checkpoint->file_bytes();
    smallest_scale_ = read_smallest_scale(source.checkpoint->metadata());
    if (options.size == 0) check_own_work(source);
  }
  const int size = crops() ? recipe().crop : spec_.recipe.crop;
  const SessionOptions session = session_options(size);
  std::optional<Session> first;
  if (crops()) {
    graph_ = source.graph;
    const bool own = size == spec_.recipe.crop;
    first.emplace(own ? *graph_ : build_graph(spec_, size, size), source_weights(source), session);
  } else {
    std::vector<Graph> graphs = build_graphs(spec_, size, size);
    if (task == ModelTask::kSegment) graphs.resize(1);  // the others are for training
    first.emplace(PackedModel::make(graphs, source_weights(source), options.precision), graphs[0],
                  session);
    graph_ = std::make_shared<const Graph>(std::move(graphs[0]));
    further_graphs_.assign(std::make_move_iterator(graphs.begin() + 1),
                           std::make_move_iterator(graphs.end()));
  }
  const int asked = options.threads > 0 ? options.threads : default_threads();
  if (first->threads() < asked && options.on_fewer_threads) {
    options.on_fewer_threads(first->threads(), asked);
  }
  make_pool(*std::move(first));
}

SessionOptions Runner::session_options(int size) const {
  SessionOptions session;
  session.threads = options_.threads;
  session.precision = options_.precision;
  session.thread_pool = options_.thread_pool;
  if (!crops()) return session;
  session.batch = batch(size);
  // While one batch runs, the next is decoded.
  session.slots = options_.images > static_cast<size_t>(session.batch) ? 2 : 1;
  return session;
}

void Runner::make_pool(Session first, std::vector<int> keep) {
  // Cropped images have the size that a caller chose; of whole ones the recipe decides on it.
  const size_t checked = !crops() && own_size() ? file_bytes_ : 0;
  sessions_ = std::make_unique<SessionPool>(
      std::move(first),
      [spec = spec_, file = name_, checked](int height, int width) {
        Graph graph = build_graph(spec, height, width);
        if (checked > 0) check_work(file, checked, graph, 1);
        return graph;
      },
      most_bytes(options_), std::move(keep));
}

Runner Runner::keeping(std::vector<int> nodes) const {
  Runner other;
  other.name_ = name_;
  other.graph_ = graph_;
  other.spec_ = spec_;
  other.classes_ = classes_;
  other.confidence_ = confidence_;
  other.options_ = options_;
  const int size = recipe().crop;
  SessionOptions session = session_options(size);
  session.thread_pool = sessions_->shared_thread_pool();
  session.keep = nodes;
  other.make_pool(Session(sessions_->shared_model(), build_graph(spec_, size, size), session),
                  std::move(nodes));
  return other;
}

Recipe Runner::recipe(int size) const {
  if (size == 0) size = options_.size;
  if (size == 0) return spec_.recipe;
  check_input_size(size, size);
  return spec_.recipe.with_size(size);
}

int Runner::batch(int size) const {
  const int most = options_.batch != 0 ? options_.batch : default_batch(size);
  return static_cast<int>(std::clamp<size_t>(options_.images, 1, static_cast<size_t>(most)));
}

std::unique_ptr<SessionPool> Runner::further_sessions(const std::string& input, int batch) const {
  const auto graph = std::ranges::find_if(
      further_graphs_, [&](const Graph& one) { return one.find_input(input) >= 0; });
  if (graph == further_graphs_.end()) return nullptr;
  if (own_size()) check_work(name_, file_bytes_, *graph, batch);
  SessionOptions options;
  options.batch = batch;
  options.thread_pool = thread_pool();
  Session first(sessions_->shared_model(), *graph, options);
  return std::make_unique<SessionPool>(
      std::move(first), [graph = *graph](int, int) { return graph; }, most_bytes(options_));
}

int Runner::window_batch(int side) const {
  return options_.batch != 0 ? options_.batch : default_batch(side);
}

void Runner::check_windows(const Placement& placement, int side, int64_t windows) const {
  if (windows == 1 || file_bytes_ == 0) return;
  const int height = placement.input_height, width = placement.input_width;
  const auto session = sessions_->take(std::min(height, side), std::min(width, side), 1);
  constexpr double kUsualPixels = 512 * 512;
  const double scale = own_size() ? 1 : std::max(1.0, double(height) * width / kUsualPixels);
  vig::check_windows(name_, file_bytes_, session->graph(), windows, scale);
}

void Runner::prepare(RunImage& image, const Recipe& recipe) const {
  image.placement = place(recipe, image.sample.image->width, image.sample.image->height);
  const int height = image.placement.input_height, width = image.placement.input_width;
  check_input_size(height, width);
  if (own_size() && int64_t{height} * width > kMostOwnPixels) {
    fail(
        "an input of {}x{} by the recipe in {}, expected at most {} pixels; give --size N for a "
        "smaller one",
        height, width, name_, kMostOwnPixels);
  }
  image.write = [pixels = image.sample.image, recipe](float* out) {
    preprocess(*pixels, recipe, out);
  };
  check_scale(image, recipe);
}

void Runner::check_scale(RunImage& image, const Recipe& recipe) const {
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
                                   1 / scale, training, recipe.resize)});
}

bool Runner::run(const SampleSource& images, const Pass& pass) const {
  const Recipe recipe = this->recipe(pass.size);
  const std::vector<size_t> order = pass.order.empty() ? plain_order(images.size()) : pass.order;
  // Of cropped images: one session for all, into whose input they are decoded. A whole image
  // travels with its sample; one worker loads them, so that they come in their order and none waits
  // for memory that a later one holds.
  std::optional<ThreadPool::Share> share;
  std::optional<SessionPool::Lease> session;
  std::vector<float*> inputs;
  size_t floats = 0;
  LoaderOptions loading{.workers = order.size() > 1 ? 1 : 0, .ahead = 1, .keep_images = true};
  Loader::Write write = [](const Loader::Slot&, Sample&, float*) {};
  if (crops()) {
    share.emplace(*thread_pool());
    session.emplace(sessions_->take(recipe.crop, recipe.crop, batch(recipe.crop)));
    const Graph& graph = (*session)->graph();
    floats = static_cast<size_t>(graph.node(graph.inputs.at(0).node).grid.elements());
    for (int i = 0; i < (*session)->slots(); ++i) inputs.push_back((*session)->input(0, i));
    // For one image no thread is started, nor where other callers fill the machine.
    const auto threads = static_cast<size_t>((*session)->threads());
    const bool one_thread = order.size() == 1 || share->alone();
    loading = {.workers = one_thread ? 0 : static_cast<int>(std::min(threads, order.size()))};
    write = [&recipe](const Loader::Slot&, Sample& sample, float* out) {
      preprocess(*sample.image, recipe, out);
    };
  }
  const size_t together = session ? static_cast<size_t>((*session)->batch()) : 1;
  const auto batches = make_batches(order, together, LastBatch::kKeep);
  const auto report = [&](size_t sample, const std::string& sentence) {
    if (pass.on_problem) pass.on_problem(sample, sentence);
  };
  const auto hand_on = [&](size_t index, Sample sample) {
    RunImage image{.index = index, .sample = std::move(sample), .placement = {}, .write = {}};
    try {
      prepare(image, recipe);
    } catch (const Error& error) {
      return report(index, fmt::format("{}: {}", images.location(index), error.what()));
    }
    if (pass.on_image) pass.on_image(image);
  };
  Loader loader({std::shared_ptr<const void>(), &images}, loading);
  loader.start(batches, floats, write, inputs);

  while (Batch* batch = loader.next()) {
    const size_t good = batch->samples.size();
    if (session && good > 0) {
      (*session)->run(static_cast<int>(good), static_cast<int>(batch->memory), share->alone());
    }
    auto problem = batch->problems.begin();
    size_t image = 0;
    for (const size_t sample : batches[batch->index]) {
      if (image < good && batch->samples[image] == sample) {
        if (!session) hand_on(sample, std::move(batch->items[image]));
        if (session && pass.on_values) pass.on_values(sample, **session, static_cast<int>(image));
        ++image;
      } else if (problem != batch->problems.end() && problem->sample == sample) {
        report(sample, problem->sentence);
        ++problem;
      }
    }
    const bool last = batch->index + 1 == batches.size();
    if (pass.on_batch && !pass.on_batch(batches[batch->index].size()) && !last) return false;
  }
  return true;
}

int default_batch(int size) {
  constexpr int64_t kPixels = 8 * 224 * 224;
  return static_cast<int>(
      std::clamp<int64_t>(kPixels / std::max<int64_t>(int64_t{size} * size, 1), 1, 8));
}

}  // namespace vig
