#include "vig/pipeline/whole_runner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/image/preprocess.h"
#include "vig/image/region_source.h"
#include "vig/pipeline/runner.h"
#include "vig/runtime/segmented_session.h"

namespace vig {
namespace {

constexpr uint64_t kReserve = uint64_t{8} << 20;  // for what is taken beside the activations
constexpr int64_t kBandBytes = int64_t{4} << 20;  // of 8-bit pixels that are read at a time
constexpr int64_t kPartBytes = int64_t{1} << 20;  // of results that are read at a time

std::string memory_text(uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  return number < 1e9 ? fmt::format("{:.0f} MB", number / 1e6)
                      : fmt::format("{:.1f} GB", number / 1e9);
}

// Lines of the image to the input, a band of 8-bit pixels at a time.
void read_lines(RegionSource& image, const Recipe& recipe, int64_t first, int64_t last,
                float* out) {
  const int64_t width = image.levels()[0].width;
  const int64_t most = std::max<int64_t>(1, kBandBytes / (3 * width));
  for (int64_t y = first; y < last; y += most) {
    const int64_t lines = std::min(most, last - y);
    const Image band = image.read(0, {0, y, width, lines});
    normalise(band, recipe, out);
    out += lines * width * 3;
  }
}

}  // namespace

std::vector<float> WholeValues::all() const {
  std::vector<float> values(static_cast<size_t>(int64_t{height} * width * channels));
  read(0, height, values.data());
  return values;
}

void WholeValues::for_each(const std::function<void(std::span<const float>)>& take) const {
  const int64_t line = int64_t{width} * channels;
  const int most = static_cast<int>(
      std::clamp<int64_t>(kPartBytes / (line * int64_t{sizeof(float)}), 1, height));
  std::vector<float> part(static_cast<size_t>(most * line));
  for (int first = 0; first < height; first += most) {
    const int last = std::min(height, first + most);
    read(first, last, part.data());
    take({part.data(), static_cast<size_t>((last - first) * line)});
  }
}

WholeRunner::WholeRunner(std::shared_ptr<const Runner> runner, const WholeOptions& options)
    : runner_(std::move(runner)), options_(options) {}

WholeValues WholeRunner::run(RegionSource& image, const std::string& output) const {
  WholeValues values = compute(image, output);
  values.for_each([](std::span<const float> part) {
    if (!std::ranges::all_of(part, [](float value) { return std::isfinite(value); })) {
      fail("the network's outputs are not finite");
    }
  });
  return values;
}

WholeValues WholeRunner::compute(RegionSource& image, const std::string& output) const {
  constexpr int kMostSide = 1 << 20;
  const RegionLevel& size = image.levels()[0];
  if (size.width > kMostSide || size.height > kMostSide) {
    fail("an image of {}x{} pixels, expected sides up to {}", size.width, size.height, kMostSide);
  }
  const auto height = static_cast<int>(size.height), width = static_cast<int>(size.width);
  const Graph graph = build_graph(runner_->spec(), height, width);
  const Recipe& recipe = runner_->spec().recipe;
  const Grid grid = graph.node(graph.find_output(output)).grid;
  WholeValues result{grid.height, grid.width, grid.channels};

  // What is there already counts.
  const uint64_t now = process_memory();
  const uint64_t allowed = options_.max_memory.value_or(now + free_memory());
  const uint64_t used = now + kReserve + options_.read_bytes;
  const uint64_t left = allowed - std::min(allowed, used);
  const SessionPool& pool = runner_->sessions();
  const auto lines = [&](int64_t first, int64_t last, float* out) {
    read_lines(image, recipe, first, last, out);
  };
  const uint64_t needed = planned_bytes(pool.model(), graph, pool.shared_thread_pool()->size());
  if (needed <= left) {
    SessionOptions options;
    options.thread_pool = pool.shared_thread_pool();
    const auto session = std::make_shared<Session>(pool.shared_model(), graph, options);
    lines(0, height, session->input(0));
    session->run(1);
    result.read = [session, output, line = int64_t{grid.width} * grid.channels](int first, int last,
                                                                                float* out) {
      std::copy_n(session->output(output, 0) + first * line, (last - first) * line, out);
    };
    return result;
  }
  const auto open_segments = [&] {
    try {
      SegmentedOptions options;
      options.max_bytes = left;
      options.folder = options_.scratch;
      options.outputs = {output};
      options.thread_pool = pool.shared_thread_pool();
      return std::make_shared<SegmentedSession>(pool.shared_model(), graph, options);
    } catch (const Error& error) {
      fail("the network needs {} for {}x{} pixels, and {} of {} are left: {}", memory_text(needed),
           width, height, memory_text(left), memory_text(allowed), error.what());
    }
  };
  const std::shared_ptr<SegmentedSession> session = open_segments();
  session->run(lines);
  result.read = [session, output](int first, int last, float* out) {
    session->read_output(output, first, last, out);
  };
  return result;
}

}  // namespace vig
