#include "vig/pipeline/embedder.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/pipeline/run_images.h"
#include "vig/pipeline/whole_runner.h"

namespace vig {
namespace {

const char* output_of(Embedder::Kind kind) {
  return kind == Embedder::Kind::kMap ? "features" : "pooled";
}

Embedding embedding(Embedder::Kind kind, const Grid& grid, std::vector<float> values) {
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    fail("the network's outputs are not finite");
  }
  return {kind == Embedder::Kind::kMap, grid.height, grid.width, grid.channels, std::move(values)};
}

}  // namespace

Embedder::Embedder(const ModelRequest& model, const RunOptions& options)
    : Embedder(find_source(model), options) {}

Embedder::Embedder(const ModelSource& source, const RunOptions& options)
    : runner_(std::make_shared<const Runner>(require_weights(source), options)) {}

Embedder::Embedder(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

void Embedder::embed(const SampleSource& images, Kind kind, const HandleResults<Embedding>& handle,
                     int size) const {
  const char* const output = output_of(kind);
  const auto decode = [&](const Session& session, int image) -> Embedding {
    const Graph& graph = session.graph();
    const Grid& grid = graph.node(graph.find_output(output)).grid;
    const float* const first = session.output(output, image);
    return embedding(kind, grid, {first, first + grid.elements()});
  };
  run_images<Embedding>(*runner_, images, size, decode, handle);
}

void Embedder::embed_whole(const SampleSource& images, Kind kind, const WholeOptions& whole,
                           const HandleResults<WholeValues>& handle) const {
  const WholeRunner network(runner_, whole);
  const auto decode = [&](RegionSource& image) { return network.run(image, output_of(kind)); };
  run_whole_images<WholeValues>(whole, images, decode, handle);
}

std::vector<EmbeddedImage> Embedder::embed(const SampleSource& images, Kind kind, int size) const {
  std::vector<EmbeddedImage> all;
  embed(images, kind, collect_results(all), size);
  return all;
}

}  // namespace vig
