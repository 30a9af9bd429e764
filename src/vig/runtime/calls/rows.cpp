// Sequences put together and taken apart: learned rows, insertion, selection.
#include <algorithm>

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

// Rows [first, first + count) of `from` to `to`.
struct Copy {
  const float* from = nullptr;
  int64_t from_stride = 0;
  float* to = nullptr;
  int64_t to_stride = 0;
};

void copy_rows(const Copy& copy, int64_t rows, int64_t channels) {
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(copy.from + r * copy.from_stride, channels, copy.to + r * copy.to_stride);
  }
}

// A result that is made of runs of other rows, image by image.
class RowsCall : public KernelCall {
 public:
  using KernelCall::KernelCall;
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "rows"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const int64_t channels = bindings.channels(result());
    float* const out = bindings.tile(result(), tile);
    for (int64_t row = tile.first; row < tile.last;) {
      const int64_t image = row / tile.positions, at = row % tile.positions;
      const Run from = run_at(bindings, image, at);
      const int64_t rows = std::min({from.rows, tile.last - row, tile.positions - at});
      const int64_t stride = bindings.stride(result());
      copy_rows({from.data, from.stride, out + (row - tile.first) * stride, stride}, rows,
                channels);
      row += rows;
    }
  }

 protected:
  struct Run {
    const float* data = nullptr;
    int64_t stride = 0;
    int64_t rows = 0;  // at least 1
  };
  // Where row `at` of an image's result comes from, and how many after it.
  virtual Run run_at(const Bindings& bindings, int64_t image, int64_t at) const = 0;

  static Run rows_of(const Bindings& bindings, int value, int64_t image, int64_t first,
                     int64_t rows) {
    const int64_t start = image * bindings.grid(value).positions() + first;
    return {bindings.row(value, start), bindings.stride(value), rows};
  }
};

class TokensCall final : public RowsCall {
 public:
  TokensCall(int out, int param) : RowsCall(out), param_(param) {}
  std::vector<int> operands() const override { return {}; }

 protected:
  Run run_at(const Bindings& bindings, int64_t, int64_t at) const override {
    const int64_t channels = bindings.channels(result());
    return {bindings.weight(param_) + at * channels, channels,
            bindings.grid(result()).positions() - at};
  }

 private:
  int param_;
};

class InsertCall final : public RowsCall {
 public:
  InsertCall(int x, int rows, int out, int at) : RowsCall(out), x_(x), rows_(rows), at_(at) {}
  std::vector<int> operands() const override { return {x_, rows_}; }

 protected:
  Run run_at(const Bindings& bindings, int64_t image, int64_t at) const override {
    const int64_t inserted = bindings.grid(rows_).positions();
    if (at < at_) return rows_of(bindings, x_, image, at, at_ - at);
    const int64_t past = at - at_;
    if (past < inserted) return rows_of(bindings, rows_, image, past, inserted - past);
    const int64_t from = at - inserted;
    return rows_of(bindings, x_, image, from, bindings.grid(x_).positions() - from);
  }

 private:
  int x_, rows_, at_;
};

class SelectCall final : public RowsCall {
 public:
  SelectCall(int x, int out, int first) : RowsCall(out), x_(x), first_(first) {}
  std::vector<int> operands() const override { return {x_}; }

 protected:
  Run run_at(const Bindings& bindings, int64_t image, int64_t at) const override {
    return rows_of(bindings, x_, image, first_ + at, bindings.grid(result()).positions() - at);
  }

 private:
  int x_, first_;
};

}  // namespace

void lower(const TokensOp&, Lowering& to) {
  to.add(std::make_unique<TokensCall>(to.result(), to.param(0)));
}

void lower(const InsertRowsOp& op, Lowering& to) {
  to.add(std::make_unique<InsertCall>(to.operand(0), to.operand(1), to.result(), op.at));
}

void lower(const SelectRowsOp& op, Lowering& to) {
  to.add(std::make_unique<SelectCall>(to.operand(0), to.result(), op.first));
}

}  // namespace vig
