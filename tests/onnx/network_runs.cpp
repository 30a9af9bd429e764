#include "onnx/network_runs.h"

#include <algorithm>
#include <cmath>

namespace vig::test {
namespace {

// Channels last to planes.
Values planes(const Values& rows, const Grid& grid) {
  Values result(rows.size());
  const auto positions = static_cast<size_t>(grid.positions());
  const auto channels = static_cast<size_t>(grid.channels);
  for (size_t p = 0; p < positions; ++p) {
    for (size_t c = 0; c < channels; ++c) result[c * positions + p] = rows[p * channels + c];
  }
  return result;
}

Values in_file(const Values& rows, const Grid& grid) {
  return grid.height > 1 ? planes(rows, grid) : rows;
}

}  // namespace

std::map<std::string, OnnxInput> file_inputs(const Graph& graph,
                                             const std::vector<Values>& images) {
  std::map<std::string, OnnxInput> result;
  std::ptrdiff_t first = 0;
  for (const Output& input : graph.inputs) {
    const Grid& grid = graph.node(input.node).grid;
    OnnxInput& made = result[input.name];
    made.dims = {static_cast<int64_t>(images.size()), grid.positions(), grid.channels};
    if (grid.height > 1) {
      made.dims = {made.dims[0], grid.channels, grid.height, grid.width};
    }
    for (const Values& image : images) {
      const Values part(image.begin() + first, image.begin() + first + grid.elements());
      const Values ordered = in_file(part, grid);
      made.values.insert(made.values.end(), ordered.begin(), ordered.end());
    }
    first += grid.elements();
  }
  return result;
}

Values engine_output(const Network& network, const std::vector<Values>& images) {
  const int batch = static_cast<int>(images.size());
  Session session = network.session({.batch = batch, .threads = 1});
  for (int image = 0; image < batch; ++image) {
    set_input(session, image, images[static_cast<size_t>(image)]);
  }
  session.run(batch);
  const Output& output = network.graph.outputs.back();
  const Grid& grid = network.graph.node(output.node).grid;
  Values result;
  for (int image = 0; image < batch; ++image) {
    const float* values = session.output(output.name, image);
    const Values ordered = in_file(Values(values, values + grid.elements()), grid);
    result.insert(result.end(), ordered.begin(), ordered.end());
  }
  return result;
}

double distance(const Values& actual, const Values& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double difference = 0, largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double d = std::fabs(static_cast<double>(actual[i]) - expected[i]);
    difference = std::isnan(d) ? INFINITY : std::max(difference, d);
    largest = std::max<double>(largest, std::fabs(expected[i]));
  }
  return difference == 0 ? 0 : difference / largest;
}

}  // namespace vig::test
