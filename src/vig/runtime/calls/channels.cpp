// Channels put together and taken apart: 2 x 2 neighbours in one row, part of a row, several rows
// one behind the other.
#include <algorithm>
#include <utility>

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class SpaceToDepthCall final : public KernelCall {
 public:
  SpaceToDepthCall(int in, int out) : KernelCall(out), in_(in) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "merge"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Grid& in = bindings.grid(in_);
    const Grid& grid = bindings.grid(result());
    float* out = bindings.tile(result(), tile);
    for (int64_t row = tile.first; row < tile.last; ++row, out += bindings.stride(result())) {
      const int64_t image = row / tile.positions, at = row % tile.positions;
      for (int64_t part = 0; part < 4; ++part) {
        const int64_t y = 2 * (at / grid.width) + part % 2, x = 2 * (at % grid.width) + part / 2;
        float* const to = out + part * in.channels;
        if (y < in.height && x < in.width) {
          const int64_t from = (image * in.height + y) * in.width + x;
          std::copy_n(bindings.row(in_, from), in.channels, to);
        } else {
          std::fill_n(to, in.channels, 0.0f);
        }
      }
    }
  }

 private:
  int in_;
};

class SelectChannelsCall final : public KernelCall {
 public:
  SelectChannelsCall(int in, int out, int first) : KernelCall(out), in_(in), first_(first) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "channels"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const float* from = bindings.tile(in_, tile) + first_;
    float* to = bindings.tile(result(), tile);
    for (int64_t row = 0; row < tile.rows(); ++row) {
      std::copy_n(from, bindings.channels(result()), to);
      from += bindings.stride(in_);
      to += bindings.stride(result());
    }
  }

 private:
  int in_, first_;
};

class ConcatChannelsCall final : public KernelCall {
 public:
  ConcatChannelsCall(std::vector<int> parts, int out) : KernelCall(out), parts_(std::move(parts)) {}

  std::vector<int> operands() const override { return parts_; }
  const char* kind() const override { return "channels"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    float* first = bindings.tile(result(), tile);
    for (const int part : parts_) {
      const float* from = bindings.tile(part, tile);
      float* to = first;
      for (int64_t row = 0; row < tile.rows(); ++row) {
        std::copy_n(from, bindings.channels(part), to);
        from += bindings.stride(part);
        to += bindings.stride(result());
      }
      first += bindings.channels(part);
    }
  }

 private:
  std::vector<int> parts_;
};

}  // namespace

void lower(const ConcatChannelsOp&, Lowering& to) {
  const std::vector<int>& parts = to.node(to.unit().node).inputs;
  to.add(std::make_unique<ConcatChannelsCall>(parts, to.result()));
}

// Its readers have its operand (lower.cpp): somebody outside wants to see it.
void lower(const DropChannelsOp&, Lowering& to) {
  if (!to.wanted(to.result())) return;
  to.add(std::make_unique<SelectChannelsCall>(to.operand(0), to.result(), 0));
}

void lower(const SpaceToDepthOp&, Lowering& to) {
  to.add(std::make_unique<SpaceToDepthCall>(to.operand(0), to.result()));
}

void lower(const SelectChannelsOp& op, Lowering& to) {
  to.add(std::make_unique<SelectChannelsCall>(to.operand(0), to.result(), op.first));
}

}  // namespace vig
