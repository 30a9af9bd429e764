// The weights of a model in the layouts of its kernels. Immutable, shared by sessions of every size
// on any number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/graph/graph.h"
#include "vig/runtime/precision.h"
#include "vig/weights/load.h"

namespace vig {

struct Packing;
struct Program;

class PackedModel {
 public:
  // `graph` may be built for any size: packing depends on parameters and fusion alone.
  static std::shared_ptr<const PackedModel> make(const Graph& graph,
                                                 std::shared_ptr<const Weights> weights,
                                                 const Precision& precision = {});
  // Of a model of several graphs, which share their parameters (share_parameters). A session is
  // made for one of them.
  static std::shared_ptr<const PackedModel> make(std::span<const Graph> graphs,
                                                 std::shared_ptr<const Weights> weights,
                                                 const Precision& precision = {});
  // For graphs already lowered with that precision.
  static std::shared_ptr<const PackedModel> make(std::span<const Graph> graphs,
                                                 std::span<const Program> programs,
                                                 std::shared_ptr<const Weights> weights,
                                                 const Precision& precision);
  size_t bytes() const { return buffer_.bytes(); }  // held beside the weight file's mapping

  // By index of the parameter.
  const ParamSpec& param(int index) const { return graphs_[0].params[index]; }
  // As published; null for what is only packed.
  const float* weight(int index) const { return plain_[index]; }
  // In its kernel's layout.
  template <class T = float>
  const T* packed(int index) const {
    return reinterpret_cast<const T*>(packed_[index]);
  }
  // What its numbers are packed as: F16 or BF16 where the file has them so and the kernel can.
  DType packed_type(int index) const { return types_[index]; }
  const Precision& precision() const { return precision_; }

  // Throws unless `graph` is one of this model's, for any size, and `program` finds its weights
  // packed as it needs them.
  void check(const Graph& graph, const Program& program) const;

 private:
  PackedModel() = default;
  size_t packed_bytes(const Packing& packing) const;

  std::vector<Graph> graphs_;  // at the sizes they were packed for
  Precision precision_;
  std::vector<const float*> plain_;
  std::vector<const std::byte*> packed_;
  std::vector<std::string> layouts_;
  std::vector<DType> types_;  // of what is packed
  Buffer buffer_;
};

}  // namespace vig
