#include "vig/pipeline/runner.h"

#include <algorithm>
#include <utility>

#include "vig/base/error.h"

namespace vig {

Runner::Runner(const ModelSource& source, const RunOptions& options)
    : name_(source.name), spec_(source.spec), classes_(source.classes), options_(options) {
  if (options.batch < 1) fail_usage("a batch of {} pictures, expected at least 1", options.batch);
  const int size = spec_.recipe.crop;
  model_ = PackedModel::make(build_graph(spec_, size, size), source_weights(source));
}

Recipe Runner::recipe(int size) const {
  if (size == 0) return spec_.recipe;
  check_input_size(size, size);
  return spec_.recipe.with_size(size);
}

Session& Runner::session(int height, int width) {
  const auto key = std::make_pair(height, width);
  const auto found = sessions_.find(key);
  if (found != sessions_.end()) return found->second;
  check_input_size(height, width);
  Session session(
      model_, build_graph(spec_, height, width),
      {.batch = options_.batch, .threads = options_.threads, .profile = false, .keep = {}});
  const int asked = options_.threads > 0 ? options_.threads : default_threads();
  if (session.threads() < asked && options_.on_fewer_threads) {
    std::exchange(options_.on_fewer_threads, {})(session.threads(), asked);
  }
  return sessions_.emplace(key, std::move(session)).first->second;
}

void Runner::run(std::span<const Picture> pictures, const Take& take) {
  std::vector<size_t> waiting;
  const auto flush = [&](Session& session) {
    session.run(static_cast<int>(waiting.size()));
    for (size_t i = 0; i < waiting.size(); ++i) take(waiting[i], session, static_cast<int>(i));
    waiting.clear();
  };
  Session* session = nullptr;
  int side = 0;
  Recipe cut;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (!pictures[i].good()) continue;
    if (session == nullptr) {
      side = pictures[i].crop.width;
      cut = recipe(side);
      session = &this->session(side, side);
    }
    if (pictures[i].crop.width != side || pictures[i].crop.height != side) {
      fail_usage("{}: cut to {}x{} among pictures cut to {}x{}", pictures[i].name,
                 pictures[i].crop.width, pictures[i].crop.height, side, side);
    }
    normalise(pictures[i].crop, cut, session->input(static_cast<int>(waiting.size())));
    waiting.push_back(i);
    if (static_cast<int>(waiting.size()) == session->batch()) flush(*session);
  }
  if (!waiting.empty()) flush(*session);
}

int default_batch(int size) {
  constexpr int64_t kPixels = 8 * 224 * 224;
  return static_cast<int>(
      std::clamp<int64_t>(kPixels / std::max<int64_t>(int64_t{size} * size, 1), 1, 8));
}

}  // namespace vig
