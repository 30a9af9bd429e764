// A graph lowered to what the kernels do, before anything is placed. Values are numbered: the
// graph's nodes keep their ids, values born here follow. A value is rows of channels; a row is one
// position of one picture.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/pointwise.h"

namespace vig {

// ---- row-wise: row r of the result needs row r of the operands alone ----

struct GemmStep {
  int in = -1, out = -1;
  int residual = -1;  // with Epilogue::kAdd
  int weight = -1;    // parameter index of the matrix
  Epilogue epilogue = Epilogue::kNone;
};

struct NormStep {
  int in = -1, out = -1;
  int weight = -1, bias = -1;  // parameter indices; a bias means LayerNorm
  float eps = 0.0f;
  int groups = 1;
};

struct PointwiseStep {
  Pointwise kind = Pointwise::kSilu;
  int a = -1, b = -1, out = -1;
  bool halves = false;    // a and b are the two halves of value a's channels
  int b_param = -1;       // b is this parameter, one row for all
  bool position = false;  // b is the position table, one row per position
};

struct MixStep {
  int gate = -1, o = -1, local = -1, out = -1;
  int o_weight = -1, local_weight = -1;  // parameter indices; -1: not normalised here
  float eps = 0.0f;
  int heads = 1;
  bool silu = false;
};

// ---- gathering: row r needs other rows of the operand, so that must be complete ----

struct PatchStep {
  int in = -1, out = -1;
  ConvOp conv;
};

struct DepthwiseStep {
  int in = -1, out = -1;
  int weight = -1;
  int kernel = 3;
  bool silu = false;
};

// ---- global: its own way of splitting ----

struct GlaStep {
  int qkv = -1, alpha = -1, out = -1;
  GlaOp op;
};

struct PoolStep {
  int in = -1, out = -1;
};

using LowOp = std::variant<GemmStep, NormStep, PointwiseStep, MixStep, PatchStep, DepthwiseStep,
                           GlaStep, PoolStep>;

struct LowStep {
  LowOp op;
  MacCount macs;  // per picture
};

struct Program {
  std::vector<LowStep> steps;
  std::vector<Grid> values;        // grid of every value
  std::vector<bool> wanted;        // values that must be readable after the run
  std::vector<int> paired_params;  // matrices whose halves are interleaved (SwiGLU)
};

// `keep`: nodes whose values must be readable besides the outputs.
Program lower(const Graph& graph, const std::vector<int>& keep);

int result_of(const LowOp& op);
std::vector<int> operands_of(const LowOp& op);
// Operands that must be complete before any row of the result can be made.
std::vector<int> gathered_by(const LowOp& op);
bool is_global(const LowOp& op);
const char* kind_of(const LowOp& op);  // for the profile

}  // namespace vig
