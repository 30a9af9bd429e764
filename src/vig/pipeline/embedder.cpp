#include "vig/pipeline/embedder.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/pipeline/run_images.h"

namespace vig {

Embedder::Embedder(const ModelRequest& model, const RunOptions& options)
    : Embedder(find_source(model), options) {}

Embedder::Embedder(const ModelSource& source, const RunOptions& options)
    : runner_(std::make_shared<const Runner>(require_weights(source), options)) {}

Embedder::Embedder(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

void Embedder::embed(const SampleSource& images, Kind kind, const HandleResults<Embedding>& handle,
                     int size) const {
  const bool map = kind == Kind::kMap;
  const char* const output = map ? "features" : "pooled";
  const auto decode = [&](const Session& session, int image) -> Embedding {
    const Graph& graph = session.graph();
    const Grid& grid = graph.node(graph.find_output(output)).grid;
    const float* const first = session.output(output, image);
    std::vector<float> values(first, first + grid.elements());
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      fail("the network's outputs are not finite");
    }
    return {map, grid.height, grid.width, grid.channels, std::move(values)};
  };
  run_images<Embedding>(*runner_, images, size, decode, handle);
}

std::vector<EmbeddedImage> Embedder::embed(const SampleSource& images, Kind kind, int size) const {
  std::vector<EmbeddedImage> all;
  embed(images, kind, collect_results(all), size);
  return all;
}

}  // namespace vig
