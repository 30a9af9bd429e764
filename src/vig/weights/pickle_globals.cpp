#include "vig/weights/pickle_globals.h"

namespace vig {
namespace {

// clang-format off
constexpr KnownGlobal kGlobals[] = {
    // A state dict.
    {"collections", "OrderedDict", GlobalRole::kDict},
    {"torch._utils", "_rebuild_tensor", GlobalRole::kTensor},
    {"torch._utils", "_rebuild_tensor_v2", GlobalRole::kTensor},
    {"torch._utils", "_rebuild_parameter", GlobalRole::kParameter},
    {"torch", "Size", GlobalRole::kSize},
    {"torch", "DoubleStorage", GlobalRole::kStorage, DType::kF64},
    {"torch", "FloatStorage", GlobalRole::kStorage, DType::kF32},
    {"torch", "HalfStorage", GlobalRole::kStorage, DType::kF16},
    {"torch", "BFloat16Storage", GlobalRole::kStorage, DType::kBF16},
    {"torch", "LongStorage", GlobalRole::kStorage, DType::kI64},
    {"torch", "IntStorage", GlobalRole::kStorage, DType::kI32},
    {"torch", "ShortStorage", GlobalRole::kStorage, DType::kI16},
    {"torch", "CharStorage", GlobalRole::kStorage, DType::kI8},
    {"torch", "ByteStorage", GlobalRole::kStorage, DType::kU8},
    {"torch", "BoolStorage", GlobalRole::kStorage, DType::kBool},

    // What training scripts leave beside it: arguments, configuration, numpy scalars. Python would
    // run these constructors; here they only mark a position in the data.
    {"torch", "device", GlobalRole::kInert},
    {"torch", "float64", GlobalRole::kInert},
    {"torch", "float32", GlobalRole::kInert},
    {"torch", "float16", GlobalRole::kInert},
    {"torch", "bfloat16", GlobalRole::kInert},
    {"torch", "int64", GlobalRole::kInert},
    {"torch", "int32", GlobalRole::kInert},
    {"torch", "int16", GlobalRole::kInert},
    {"torch", "int8", GlobalRole::kInert},
    {"torch", "uint8", GlobalRole::kInert},
    {"torch", "bool", GlobalRole::kInert},
    {"argparse", "Namespace", GlobalRole::kInert},
    {"yacs.config", "CfgNode", GlobalRole::kDict},
    {"builtins", "set", GlobalRole::kInert},
    {"__builtin__", "set", GlobalRole::kInert},
    {"numpy", "dtype", GlobalRole::kInert},
    {"numpy.core.multiarray", "scalar", GlobalRole::kInert},
    {"numpy._core.multiarray", "scalar", GlobalRole::kInert},
    {"_codecs", "encode", GlobalRole::kInert},  // how protocol 2 spells the bytes of a numpy number
};
// clang-format on

}  // namespace

const KnownGlobal* find_known_global(std::string_view module, std::string_view name) {
  // Tensors saved from a GPU name the same storages there.
  const bool cuda = module == "torch.cuda";
  for (const KnownGlobal& global : kGlobals) {
    if (global.name != name) continue;
    if (global.module == module) return &global;
    if (cuda && global.role == GlobalRole::kStorage) return &global;
  }
  return nullptr;
}

}  // namespace vig
