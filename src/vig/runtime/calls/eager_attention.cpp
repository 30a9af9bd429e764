// Softmax attention in three passes over matrices of all pairs of tokens, as frameworks execute the
// formula line by line: logits of all heads, their softmax, the product with the values. Both
// matrices are stored whole.
#include "vig/runtime/calls/eager_attention.h"

#include <algorithm>
#include <cmath>

#include "vig/kernels/attention.h"
#include "vig/kernels/gemm.h"

namespace vig {
namespace {

int64_t whole_lines(int64_t floats) { return (floats + 15) / 16 * 16; }  // whole cache lines

class EagerAttentionCall final : public ImageCall {
 public:
  EagerAttentionCall(int qkv, int out, const AttentionOp& op, const Grid& grid)
      : ImageCall(out),
        qkv_(qkv),
        heads_(op.heads),
        tokens_(grid.positions()),
        head_dim_(grid.channels / op.heads) {}

  std::vector<int> operands() const override { return {qkv_}; }
  const char* kind() const override { return "attention"; }
  int passes() const override { return 3; }

  // Queries of heads of images.
  void share_out(const Workload& load) override {
    batch_ = load.batch;
    const int64_t all = static_cast<int64_t>(load.batch) * heads_;
    parts_ = 1;
    while (all * parts_ % load.threads != 0 && all * parts_ < 8 * load.threads &&
           2 * parts_ <= tokens_) {
      parts_ *= 2;
    }
  }
  // Of each head of each image: logits, then their softmax behind all of these.
  int64_t state_bytes(int batch) const override {
    return 2 * batch * heads_ * tokens_ * tokens_ * kFloatBytes;
  }
  // A head's keys or values, beside each other and packed.
  int64_t task_bytes() const override {
    return (rows_floats() +
            static_cast<int64_t>(std::max(gemm_packed_floats(tokens_, head_dim_, false),
                                          gemm_packed_floats(head_dim_, tokens_, false)))) *
           kFloatBytes;
  }
  int64_t tasks(const Bindings&, int images) const override { return images * heads_ * parts_; }

  void run_task(const Bindings& bindings, int, int64_t task, int pass,
                std::byte* room) const override {
    const int64_t part = task % parts_, head = task / parts_ % heads_;
    const int64_t image = task / parts_ / heads_;
    const int64_t first = tokens_ * part / parts_, last = tokens_ * (part + 1) / parts_;
    const int64_t pairs = tokens_ * tokens_, rows = last - first;
    float* const stored = reinterpret_cast<float*>(bindings.arena() + state_offset());
    float* const logits = stored + (image * heads_ + head) * pairs + first * tokens_;
    float* const weights = logits + batch_ * heads_ * pairs;
    if (pass == 1) {
      softmax_rows(logits, rows, tokens_, 1.0f / std::sqrt(static_cast<float>(head_dim_)), weights);
      return;
    }
    // Of the image's qkv: queries, then keys, then values of all heads.
    const int64_t width = heads_ * head_dim_;
    const auto part_of = [&](int64_t which, int64_t row) {
      return bindings.row(qkv_, image * tokens_ + row) + which * width + head * head_dim_;
    };
    auto* const beside = reinterpret_cast<float*>(room);
    for (int64_t t = 0; t < tokens_; ++t) {
      std::copy_n(part_of(pass == 0 ? 1 : 2, t), head_dim_, beside + t * head_dim_);
    }
    float* const packed = beside + rows_floats();
    GemmArgs args;
    args.rows = rows;
    if (pass == 0) {
      args.weight = gemm_pack(beside, nullptr, tokens_, head_dim_, false, packed);
      args.a = part_of(0, first);
      args.lda = bindings.stride(qkv_);
      args.c = logits;
      args.ldc = tokens_;
    } else {
      args.weight = gemm_pack_transposed(beside, head_dim_, tokens_, packed);
      args.a = weights;
      args.lda = tokens_;
      args.c = bindings.row(result(), image * tokens_ + first) + head * head_dim_;
      args.ldc = bindings.stride(result());
    }
    gemm(args);
  }

 private:
  int64_t rows_floats() const { return whole_lines(tokens_ * head_dim_); }

  int qkv_;
  int64_t heads_, tokens_, head_dim_;
  int64_t batch_ = 1;
  int64_t parts_ = 1;  // of a head's queries
};

}  // namespace

std::unique_ptr<ImageCall> make_eager_attention(int qkv, int out, const AttentionOp& op,
                                                const Grid& grid) {
  return std::make_unique<EagerAttentionCall>(qkv, out, op, grid);
}

}  // namespace vig
