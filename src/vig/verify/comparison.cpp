#include "vig/verify/comparison.h"

#include <cmath>
#include <cstring>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/session.h"
#include "vig/weights/elements.h"

namespace vig {
namespace {

constexpr float kFarthest = 1e4f;

}  // namespace

void Comparison::values(const std::string& name, const std::vector<float>& expected,
                        const std::vector<float>& found) {
  if (expected.size() != found.size()) {
    fail("{}: {} has {} values, the engine's output {}", golden_.file, name, expected.size(),
         found.size());
  }
  report_.tensors.push_back(compare_values(name, expected, found, options_.tolerance));
}

// Of integers: error and largest are how many differ, and how many there are.
void Comparison::counts(const std::string& name, const std::vector<int64_t>& expected,
                        const std::vector<int64_t>& found) {
  if (expected.size() != found.size()) {
    fail("{}: {} has {} values, the engine's output {}", golden_.file, name, expected.size(),
         found.size());
  }
  TensorCheck check;
  check.name = name;
  for (size_t i = 0; i < expected.size(); ++i) check.error += expected[i] != found[i];
  check.largest = static_cast<double>(expected.size());
  check.relative = check.error == 0 ? 0 : check.error / check.largest;
  check.within = check.relative <= options_.tolerance;
  report_.tensors.push_back(check);
}

void Comparison::tensor(const std::string& name, const std::vector<float>& found) {
  values(name, floats(name), found);
}

void Comparison::integers(const std::string& name, const std::vector<int64_t>& found) {
  counts(name, whole(name), found);
}

void Comparison::map(const std::string& name, const std::vector<float>& found) {
  values(name, rows(name), found);
}

void Comparison::boxes(const std::string& name, const std::vector<float>& found) {
  const int64_t count = static_cast<int64_t>(found.size()) / 5;
  const std::vector<float> expected = floats(name, {count, 5});
  const auto split = [](const std::vector<float>& rows, bool scores) {
    std::vector<float> part;
    for (size_t i = 0; i < rows.size(); ++i) {
      if ((i % 5 == 4) == scores) part.push_back(rows[i]);
    }
    return part;
  };
  values(name + " boxes", split(expected, false), split(found, false));
  values(name + " scores", split(expected, true), split(found, true));
}

const Shape& Comparison::shape(const std::string& name) const {
  const NamedTensor* found = golden_.tensors->find(name);
  if (found == nullptr) fail("{}: expected a tensor \"{}\", found none", golden_.file, name);
  return found->view.shape;
}

const Shape& Comparison::shape(const std::string& name, int rank) const {
  const Shape& found = shape(name);
  if (found.rank() != rank || found.elements() < 1) {
    fail("{}: {} is {}, expected {} axes", golden_.file, name, found.str(), rank);
  }
  return found;
}

std::vector<float> Comparison::floats(const std::string& name) const {
  return to_floats(golden_.tensor(name));
}

std::vector<float> Comparison::floats(const std::string& name, const Shape& expected) const {
  check_shape(name, golden_.tensor(name).shape, expected);
  return floats(name);
}

std::vector<double> Comparison::doubles(const std::string& name) const {
  const TensorView& view = golden_.tensor(name);
  std::vector<double> values(static_cast<size_t>(view.shape.elements()));
  if (view.dtype == DType::kF64) {
    std::memcpy(values.data(), view.data, values.size() * sizeof(double));
    return values;
  }
  const std::vector<float> narrow = to_floats(view);
  return {narrow.begin(), narrow.end()};
}

std::vector<int64_t> Comparison::whole(const std::string& name) const {
  return to_int64s(golden_.integers(name));
}

std::vector<int64_t> Comparison::whole(const std::string& name, const Shape& expected) const {
  check_shape(name, golden_.integers(name).shape, expected);
  return whole(name);
}

std::vector<float> Comparison::rows(const std::string& name) const {
  const Shape& found = shape(name, 4);
  return channels_last(floats(name), found[0], found[1]);
}

std::vector<Box> Comparison::box_list(const std::string& name, size_t width, size_t first) const {
  const Shape& found = shape(name, 2);
  if (found[1] != static_cast<int64_t>(width)) {
    fail("{}: {} is {}, expected {} columns", golden_.file, name, found.str(), width);
  }
  const std::vector<float> values = floats(name);
  std::vector<Box> boxes;
  for (size_t i = first; i < values.size(); i += width) {
    boxes.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
    for (size_t k = i; k < i + 4; ++k) {
      if (!(std::abs(values[k]) <= kFarthest)) {
        fail("{}: {} has a corner at {}, expected at most {}", golden_.file, name, values[k],
             kFarthest);
      }
    }
  }
  return boxes;
}

std::vector<std::string> Comparison::names_under(std::string_view prefix) const {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : golden_.tensors->tensors()) {
    if (tensor.name.starts_with(prefix)) names.push_back(tensor.name.substr(prefix.size()));
  }
  return names;
}

const Json& Comparison::text(std::string_view key) const {
  if (!golden_.description.contains(key)) {
    fail("{}: expected \"{}\" beside the tensors, found none", golden_.file, key);
  }
  return golden_.description[key];
}

double Comparison::as_number(std::string_view key, const Json& value) const {
  if (!value.is_number()) {
    fail("{}: {} is {}, expected a number", golden_.file, key, printable(value.dump(), 40));
  }
  return value.get<double>();
}

int Comparison::count(std::string_view key, int most) const {
  const Json& value = text(key);
  if (!value.is_integer(1, most)) {
    fail("{}: {} is {}, expected a whole number from 1 to {}", golden_.file, key,
         printable(value.dump(), 40), most);
  }
  return value.get<int>();
}

std::vector<double> Comparison::numbers(std::string_view key) const {
  const Json& list = text(key);
  if (!list.is_array()) fail("{}: expected {} to be a list", golden_.file, key);
  std::vector<double> values;
  for (const Json& value : list) values.push_back(as_number(key, value));
  return values;
}

std::vector<int> Comparison::counts_of(std::string_view key, int most) const {
  const Json& list = text(key);
  if (!list.is_array()) fail("{}: expected {} to be a list", golden_.file, key);
  std::vector<int> values;
  for (const Json& value : list) {
    if (!value.is_integer(1, most)) {
      fail("{}: {} has {}, expected whole numbers from 1 to {}", golden_.file, key,
           printable(value.dump(), 40), most);
    }
    values.push_back(value.get<int>());
  }
  return values;
}

GridSize Comparison::as_size(std::string_view key, const Json& value) const {
  const auto side = [](const Json& one) { return one.is_integer(1, 65536); };
  if (!value.is_array() || value.size() != 2 || !side(value[0]) || !side(value[1])) {
    fail("{}: {} is {}, expected [height, width]", golden_.file, key, printable(value.dump(), 60));
  }
  return {value[0].get<int>(), value[1].get<int>()};
}

GridSize Comparison::size(std::string_view key) const { return as_size(key, text(key)); }

std::vector<GridSize> Comparison::sizes(std::string_view key) const {
  const Json& list = text(key);
  if (!list.is_array()) fail("{}: expected {} to be a list", golden_.file, key);
  std::vector<GridSize> sizes;
  for (const Json& value : list) sizes.push_back(as_size(key, value));
  return sizes;
}

std::vector<std::vector<float>> Comparison::run(const Graph& graph,
                                                const std::vector<std::vector<float>>& inputs,
                                                int64_t batch, std::string_view prefix) const {
  check_work(golden_.file, golden_.tensors->file_bytes(), graph, batch);
  SessionOptions options;
  options.batch = static_cast<int>(batch);
  options.threads = options_.threads;
  for (const Output& output : graph.outputs) options.keep.push_back(output.node);
  Session session(graph, golden_.weights(graph, prefix), options);
  for (size_t k = 0; k < inputs.size(); ++k) {
    const int64_t one = graph.node(graph.inputs[k].node).grid.elements();
    if (static_cast<int64_t>(inputs[k].size()) != one * batch) {
      fail("{}: input {} has {} values, expected {}", golden_.file, graph.inputs[k].name,
           inputs[k].size(), one * batch);
    }
    for (int image = 0; image < options.batch; ++image) {
      std::copy_n(inputs[k].begin() + image * one, one, session.input(graph.inputs[k].name, image));
    }
  }
  session.run(options.batch);
  std::vector<std::vector<float>> outputs(graph.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int node = graph.outputs[i].node;
    for (int image = 0; image < options.batch; ++image) {
      const float* values = session.value(node, image);
      outputs[i].insert(outputs[i].end(), values, values + graph.node(node).grid.elements());
    }
  }
  return outputs;
}

void Comparison::check_shape(const std::string& name, const Shape& found,
                             const Shape& expected) const {
  if (found == expected) return;
  fail("{}: {} is {}, the engine's output {}", golden_.file, name, found.str(), expected.str());
}

}  // namespace vig
