#include "vig/pipeline/embedder.h"

#include <algorithm>
#include <cmath>

namespace vig {

Embedder::Embedder(const ModelSource& source, const RunOptions& options)
    : runner_(require_weights(source), options) {}

std::vector<EmbeddedPicture> Embedder::embed(std::span<const Picture> pictures, Kind kind) {
  std::vector<EmbeddedPicture> results;
  for (const Picture& picture : pictures) results.push_back({picture.name, {}, picture.error});
  const char* output = kind == Kind::kMap ? "features" : "pooled";
  runner_.run(pictures, [&](size_t index, const Session& session, int image) {
    const Graph& graph = session.graph();
    const Grid& grid = graph.node(graph.find_output(output)).grid;
    const float* values = session.output(output, image);
    Embedding& answer = results[index].answer;
    answer = {grid.height, grid.width, grid.channels, {values, values + grid.elements()}};
    const bool finite = std::all_of(answer.values.begin(), answer.values.end(),
                                    [](float value) { return std::isfinite(value); });
    if (!finite) {
      results[index].error = pictures[index].name + ": the network's numbers are not finite";
    }
  });
  return results;
}

}  // namespace vig
