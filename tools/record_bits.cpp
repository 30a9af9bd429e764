// What compare_bits.sh compares: a line for every size and output of the models named as arguments
// with a hash of its bits, or for every tensor of a safetensors file. Without arguments it lists
// the models of the zoo. It compiles in the trees of older commits as well.
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/models/family.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"
#include "vig/weights/safetensors.h"

namespace {

uint64_t hash_bytes(const void* data, size_t bytes) {
  return vig::hash_name({static_cast<const char*>(data), bytes});
}

void record_file(const char* path) {
  const vig::SafeTensors file = vig::SafeTensors::open(path);
  for (const vig::NamedTensor& tensor : file.tensors()) {
    fmt::print("{} {:016x}\n", tensor.name, hash_bytes(tensor.view.data, tensor.view.bytes()));
  }
}

void record_model(const vig::ModelSpec& spec) {
  std::shared_ptr<const vig::PackedModel> packed;
  for (const auto& [height, width] : {std::pair(224, 224), std::pair(96, 160), std::pair(64, 64)}) {
    vig::Graph graph;
    try {
      graph = vig::build_graph(spec, height, width);
    } catch (const vig::Error&) {
      continue;  // a model for one size
    }
    if (packed == nullptr) {
      packed = vig::PackedModel::make(graph, vig::random_weights(graph.params, 1));
    }
    vig::Session session(packed, graph, {.batch = 2, .threads = 2, .profile = false, .keep = {}});
    for (int image = 0; image < 2; ++image) {
      vig::RandomStream random(static_cast<uint64_t>(image + 1));
      const int64_t floats = graph.node(0).grid.elements();
      for (int64_t i = 0; i < floats; ++i) session.input(image)[i] = random.uniform(-2.0f, 2.0f);
    }
    session.run(2);
    for (const vig::Output& output : graph.outputs) {
      const size_t bytes =
          static_cast<size_t>(graph.node(output.node).grid.elements()) * sizeof(float);
      fmt::print("{} {}x{} {}", spec.name, height, width, output.name);
      for (int image = 0; image < 2; ++image) {
        fmt::print(" {:016x}", hash_bytes(session.output(output.name, image), bytes));
      }
      fmt::print("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name.ends_with(".safetensors")) {
      record_file(argv[i]);
    } else {
      record_model(vig::find_model(name));
    }
  }
  if (argc > 1) return 0;
  for (const vig::ModelSpec& spec : vig::model_zoo()) fmt::print("{}\n", spec.name);
}
