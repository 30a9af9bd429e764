// Softmax attention among all tokens of an image.
//
// A task is some queries of one head. It packs the head's keys and values for itself: that is a
// small part of the work, and whatever is stored beside the operands is a worker's and linear in
// the number of tokens. The materialised form stores the logits of its queries with all keys.
#include "vig/kernels/attention.h"

#include <cmath>

#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/eager_attention.h"

namespace vig {
namespace {

int64_t whole_lines(int64_t floats) { return (floats + 15) / 16 * 16; }  // whole cache lines

class AttentionCall final : public ImageCall {
 public:
  AttentionCall(int qkv, int out, const AttentionOp& op, const Grid& grid)
      : ImageCall(out),
        qkv_(qkv),
        op_(op),
        tokens_(grid.positions()),
        head_dim_(grid.channels / op.heads) {}

  std::vector<int> operands() const override { return {qkv_}; }
  const char* kind() const override { return "attention"; }

  // Heads of all images, halved until they share out evenly or are many.
  void share_out(const Workload& load) override {
    const int64_t heads = static_cast<int64_t>(load.batch) * op_.heads;
    const int64_t most =
        (tokens_ + attention_query_block(tokens_) - 1) / attention_query_block(tokens_);
    parts_ = 1;
    while (heads * parts_ % load.threads != 0 && heads * parts_ < 8 * load.threads &&
           2 * parts_ <= most) {
      parts_ *= 2;
    }
  }
  int64_t task_bytes() const override { return (packed_floats() + scratch_floats()) * kFloatBytes; }

  int64_t tasks(const Bindings&, int images) const override { return images * op_.heads * parts_; }
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t part = task % parts_, head = task / parts_ % op_.heads;
    const int64_t row = task / parts_ / op_.heads * tokens_;
    AttentionArgs args;
    args.tokens = tokens_;
    args.head_dim = head_dim_;
    args.q = bindings.row(qkv_, row) + head * head_dim_;
    args.k = args.q + op_.heads * head_dim_;
    args.v = args.k + op_.heads * head_dim_;
    args.qkv_stride = bindings.stride(qkv_);
    args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
    args.o = bindings.row(result(), row) + head * head_dim_;
    args.o_stride = bindings.stride(result());
    args.first_query = first_query(part);
    args.last_query = first_query(part + 1);
    args.packed = scratch;
    args.scratch = scratch + packed_floats();
    attention_pack(args);
    materialised() ? attention_materialised(args) : attention(args);
  }

 private:
  bool materialised() const { return op_.form == AttentionForm::kMaterialised; }
  int64_t first_query(int64_t part) const { return tokens_ * part / parts_; }
  int64_t packed_floats() const {
    return whole_lines(static_cast<int64_t>(attention_packed_floats(tokens_, head_dim_)));
  }
  int64_t scratch_floats() const {
    const int64_t queries = (tokens_ + parts_ - 1) / parts_;
    return whole_lines(static_cast<int64_t>(
        materialised() ? attention_materialised_scratch_floats(queries, tokens_, head_dim_)
                       : attention_scratch_floats(tokens_, head_dim_)));
  }

  int qkv_;
  AttentionOp op_;
  int64_t tokens_, head_dim_;
  int64_t parts_ = 1;  // of a head's queries
};

}  // namespace

void lower(const AttentionOp& op, Lowering& to) {
  if (op.form == AttentionForm::kEager) {
    to.add(make_eager_attention(to.operand(0), to.result(), op, to.grid(to.result())), to.macs());
    return;
  }
  to.add(std::make_unique<AttentionCall>(to.operand(0), to.result(), op, to.grid(to.result())),
         to.macs());
}

}  // namespace vig
