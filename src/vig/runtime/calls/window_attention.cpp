// Softmax attention in windows. A task is one head of one window, whose rows are found by index:
// neither shift nor padding copies the map. The bias of positions, where there is one, is expanded
// when weights are packed.
#include "vig/kernels/window_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vig/kernels/attention.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class WindowAttentionCall final : public ImageCall {
 public:
  struct Spec {
    int qkv = -1, out = -1;
    int table = -1, bias = -1;  // parameter indices, or -1
    WindowAttentionOp op;
    Grid grid;  // of the result
  };
  explicit WindowAttentionCall(const Spec& spec) : ImageCall(spec.out), spec_(spec) {
    const WindowAttentionOp& op = spec.op;
    const Grid& grid = spec.grid;
    windows_ = {grid.height,
                grid.width,
                op.window_height,
                op.window_width,
                window_shift(grid.height, op.window_height, op.shifted),
                window_shift(grid.width, op.window_width, op.shifted)};
    if (spec.bias < 0) zeros_.assign(static_cast<size_t>(head_dim()), 0.0f);
  }

  std::vector<int> operands() const override { return {spec_.qkv}; }
  const char* kind() const override { return "window attention"; }

  // The layout is the same for images of all sizes.
  std::optional<Packing> packing(const std::vector<ParamSpec>&) const override {
    if (spec_.table < 0) return {};
    return Packing{
        spec_.table,
        fmt::format("bias of {} x {} windows", windows_.window_height, windows_.window_width),
        static_cast<size_t>(spec_.op.heads * pairs()) * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>&, const Weights& weights, void* room) const override {
    auto* to = static_cast<float*>(room);
    relative_bias(weights.data(static_cast<size_t>(spec_.table)), windows_.window_height,
                  windows_.window_width, spec_.op.heads, to);
  }

  void bind(const Operands&) override {
    const int64_t n = windows_.tokens();
    rows_.resize(static_cast<size_t>(windows_.count() * n));
    labels_.resize(rows_.size());
    parted_.assign(static_cast<size_t>(windows_.count()), false);
    for (int64_t w = 0; w < windows_.count(); ++w) {
      int32_t* const labels = labels_.data() + w * n;
      window_tokens(windows_, w, rows_.data() + w * n, labels);
      parted_[static_cast<size_t>(w)] =
          std::any_of(labels, labels + n, [&](int32_t label) { return label != labels[0]; });
    }
  }
  size_t bound_bytes() const override {
    return (rows_.size() + labels_.size()) * sizeof(int32_t) + parted_.size();
  }

  int64_t task_bytes() const override { return (packed_floats() + scratch_floats()) * kFloatBytes; }
  int64_t tasks(const Bindings&, int images) const override {
    return images * windows_.count() * spec_.op.heads;
  }
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t heads = spec_.op.heads, n = windows_.tokens();
    const int64_t head = task % heads, window = task / heads % windows_.count();
    const int64_t row = task / heads / windows_.count() * spec_.grid.positions();
    const int64_t width = spec_.grid.channels, column = head * head_dim();
    AttentionArgs args;
    args.tokens = n;
    args.head_dim = head_dim();
    args.q = bindings.row(spec_.qkv, row) + column;
    args.k = args.q + width;
    args.v = args.k + width;
    args.qkv_stride = bindings.stride(spec_.qkv);
    args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim()));
    args.rows = rows_.data() + window * n;
    args.pad_k = args.pad_v = zeros_.data();
    if (spec_.table >= 0) {
      args.pad_k = bindings.weight(spec_.bias) + width + column;
      args.pad_v = args.pad_k + width;
      args.bias = bindings.packed(spec_.table) + head * pairs();
      args.bias_stride = n;
    }
    if (parted_[static_cast<size_t>(window)]) args.labels = labels_.data() + window * n;
    args.o = bindings.row(result(), row) + column;
    args.o_stride = bindings.stride(result());
    args.packed = scratch;
    args.scratch = scratch + packed_floats();
    attention_pack(args);
    attention(args);
  }

 private:
  int64_t head_dim() const { return spec_.grid.channels / spec_.op.heads; }
  int64_t pairs() const { return windows_.tokens() * windows_.tokens(); }
  // Both are whole cache lines.
  int64_t packed_floats() const {
    return static_cast<int64_t>(attention_packed_floats(windows_.tokens(), head_dim()));
  }
  int64_t scratch_floats() const {
    return static_cast<int64_t>(attention_scratch_floats(windows_.tokens(), head_dim()));
  }

  Spec spec_;
  AttentionWindows windows_;
  std::vector<int32_t> rows_, labels_;  // of the tokens of each window
  std::vector<bool> parted_;            // windows whose labels differ
  std::vector<float> zeros_;            // a padded token without parameters
};

}  // namespace

void lower(const WindowAttentionOp& op, Lowering& to) {
  WindowAttentionCall::Spec spec;
  spec.qkv = to.operand(0);
  spec.out = to.result();
  if (!to.node(to.unit().node).params.empty()) {
    spec.table = to.param(0);
    spec.bias = to.param(1);
  }
  spec.op = op;
  spec.grid = to.grid(to.result());
  to.add(std::make_unique<WindowAttentionCall>(spec), to.macs());
}

}  // namespace vig
