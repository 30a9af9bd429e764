// Selective scans of a grid in one or several directions.
#include "vig/kernels/selective_scan.h"

#include "vig/base/buffer.h"
#include "vig/graph/scan_path.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/channel_blocks.h"

namespace vig {
namespace {

class SelectiveScanCall final : public ImageCall {
 public:
  SelectiveScanCall(const Node& node, int result)
      : ImageCall(result),
        op_(std::get<SelectiveScanOp>(node.op)),
        inputs_(node.inputs),
        params_(node.params),
        height_(node.grid.height),
        width_(node.grid.width) {}

  std::vector<int> operands() const override { return inputs_; }
  const char* kind() const override { return "selective scan"; }

  void bind(const Operands& operands) override {
    const int64_t channels = op_.channels, states = op_.states;
    const size_t sets = op_.shared ? 1 : op_.directions.size();
    rates_ = Buffer(sets * static_cast<size_t>(channels * states) * sizeof(float));
    bias_.resize(sets * static_cast<size_t>(channels));
    for (size_t d = 0; d < sets; ++d) {
      selective_scan_rates(param(operands, d, 0, states), channels, states,
                           rates_.floats() + made(d) * channels * states);
      for (int64_t e = 0; e < channels; ++e) {
        bias_[static_cast<size_t>(made(d) * channels + e)] =
            op_.bias_factor * param(operands, d, 2, 1)[e];
      }
    }
    for (const ScanDirection& direction : op_.directions) {
      Order order;
      order.tokens = scan_sources(op_, direction.path, height_, width_, true);
      order.others = scan_sources(op_, direction.path, height_, width_, false);
      order.targets = scan_targets(op_, direction.path, height_, width_);
      if (op_.gate >= 0 && op_.released_columns) {
        order.gates = scan_rows(direction.path, height_, width_);
      }
      if (op_.moves) order.moves = scan_moves(direction.path, height_, width_);
      orders_.push_back(std::move(order));
    }
  }
  size_t bound_bytes() const override {
    size_t numbers = bias_.size();
    for (const Order& order : orders_) {
      numbers += 3 * order.tokens.size() + order.moves.size() + order.gates.size();
    }
    return rates_.bytes() + numbers * sizeof(float);
  }

  void share_out(const Workload& load) override { blocks_ = {op_.channels, load}; }
  int64_t task_bytes() const override {
    return static_cast<int64_t>(selective_scan_state_floats(blocks_.width(), op_.states)) *
           kFloatBytes;
  }
  int64_t tasks(const Bindings&, int images) const override { return images * blocks_.count(); }

  // Some channels of an image in all directions, which add up in the result.
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t image = task / blocks_.count(), block = task % blocks_.count();
    const int64_t first = blocks_.first(block);
    SelectiveScanArgs args;
    args.channels = blocks_.channels(block);
    args.states = op_.states;
    args.rates_stride = op_.channels;
    args.state = scratch;
    for (size_t d = 0; d < op_.directions.size(); ++d) {
      const ScanDirection& direction = op_.directions[d];
      const Order& order = orders_[d];
      const auto sequence = [&](int operand, int64_t channel, const int32_t* index) {
        const int value = inputs_[static_cast<size_t>(operand)];
        const int64_t row = image * bindings.grid(value).positions();
        return Sequence{bindings.row(value, row) + channel, bindings.stride(value), index};
      };
      const int32_t* index = order.others.data();
      args.tokens = static_cast<int64_t>(order.tokens.size());
      args.u = sequence(direction.u, direction.u_first + first, order.tokens.data());
      args.raw = sequence(direction.steps, direction.step_first + first, index);
      args.b = sequence(direction.rates, direction.rate_first, index);
      args.c = sequence(direction.rates, direction.rate_first + op_.states, index);
      if (op_.moves) {
        args.b_added = {bindings.weight(params_.back()), op_.states, order.moves.data()};
      }
      args.rates = rates_.floats() + made(d) * op_.channels * op_.states + first;
      args.d = param(bindings, d, 1, 1) + first;
      args.bias = bias_.data() + made(d) * op_.channels + first;
      args.y = {bindings.row(result(), image * bindings.grid(result()).positions()) + first,
                bindings.stride(result()), order.targets.data()};
      args.add = scan_adds(op_, d);
      if (d + 1 == op_.directions.size()) {
        args.scale = op_.scale;
        if (op_.gate >= 0) {
          const std::vector<int32_t>& gates = order.gates.empty() ? order.targets : order.gates;
          args.gate = sequence(op_.gate, op_.gate_first + first, gates.data());
        }
      }
      selective_scan(args);
    }
  }

 private:
  // What each step of a direction takes and where its result goes.
  struct Order {
    std::vector<int32_t> tokens, others, targets, moves;
    std::vector<int32_t> gates;  // empty: those of the targets
  };

  // Which of the rates and biases made before the first run are a direction's.
  int64_t made(size_t direction) const { return op_.shared ? 0 : static_cast<int64_t>(direction); }
  // Parameter `which` of a direction: its own, or its rows of the one for all.
  const float* param(const Operands& operands, size_t direction, size_t which,
                     int64_t row_floats) const {
    if (params_.size() > 4) return operands.weight(params_[3 * direction + which]);
    return operands.weight(params_[which]) +
           (op_.first_set + made(direction)) * op_.channels * row_floats;
  }

  SelectiveScanOp op_;
  std::vector<int> inputs_, params_;
  int height_, width_;
  ChannelBlocks blocks_{1, {}};
  Buffer rates_;             // [N, E] of each set of parameters
  std::vector<float> bias_;  // [E] of each
  std::vector<Order> orders_;
};

}  // namespace

void lower(const SelectiveScanOp&, Lowering& to) {
  to.add(std::make_unique<SelectiveScanCall>(to.node(to.unit().node), to.result()), to.macs());
}

}  // namespace vig
