#include "vig/kernels/backward/gla.h"

#include <algorithm>

#include "vig/kernels/gla.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/gla.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/backward/gla-inl.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Chunks whose states are kept at a time: those that leave room in a core's cache, but some at
// least, since the state before every segment is kept as well.
constexpr size_t kSegmentFloats = 128 * 1024;
constexpr size_t kLeastSegment = 16;

// Calls f(columns, offset of their panel in a state) for each panel.
template <class F>
HWY_INLINE void for_each_panel(const GlaBackwardArgs& args, const F& f) {
  const size_t key_dim = static_cast<size_t>(args.key_dim);
  for (size_t first = 0; first < key_dim; first += kColumns) {
    const size_t width = std::min(kColumns, key_dim - first);
    const size_t offset = first * static_cast<size_t>(args.value_dim);
    width > kLanes ? f(Columns<kBlock>{first, width}, offset) : f(Columns<1>{first, width}, offset);
  }
}

void advance(const Sweep& sweep, int64_t index, const float* from, float* to) {
  const Chunk chunk(sweep, index);
  for_each_panel(sweep.args, [&](const auto& columns, size_t offset) HWY_ATTR {
    advance_block(sweep, chunk, columns, from + offset, to + offset);
  });
}

void back(const Sweep& sweep, int64_t index, const float* before, float* gradient) {
  const Chunk chunk(sweep, index);
  const Pairs pairs(sweep.args, chunk);
  for_each_panel(sweep.args, [&](const auto& columns, size_t offset) HWY_ATTR {
    back_block(sweep, chunk, pairs, columns, before + offset, gradient + offset);
  });
}

// What lies in the scratch, in states of `floats` each.
struct Layout {
  Layout(int64_t tokens, int64_t key_dim, int64_t value_dim)
      : floats(round_up(static_cast<size_t>(key_dim), kLanes) * static_cast<size_t>(value_dim)),
        chunks((tokens + static_cast<int64_t>(kChunk) - 1) / static_cast<int64_t>(kChunk)),
        segment(static_cast<int64_t>(
            std::max(kLeastSegment, kSegmentFloats / std::max<size_t>(floats, 1)))),
        segments((chunks + segment - 1) / segment) {}
  float* gradient(float* scratch) const { return scratch; }  // of the state after a chunk
  // Before the m-th chunk of the segment at work.
  float* state(float* scratch, int64_t m) const {
    return scratch + static_cast<size_t>(1 + m) * floats;
  }
  // Before the m-th segment, of all but the last.
  float* kept(float* scratch, int64_t m) const {
    return state(scratch, std::min(chunks, segment) + m);
  }
  size_t total() const {
    return floats *
           static_cast<size_t>(1 + std::min(chunks, segment) + std::max<int64_t>(segments - 1, 0));
  }

  size_t floats;
  int64_t chunks, segment, segments;
};

void gradients(const Sweep& sweep) {
  const GlaBackwardArgs& args = sweep.args;
  const Layout layout(args.tokens, args.key_dim, args.value_dim);
  if (layout.segments == 0) return;
  float* const gradient = layout.gradient(args.scratch);
  float* const first = layout.state(args.scratch, 0);
  std::fill_n(gradient, layout.floats, 0.0f);
  std::fill_n(first, layout.floats, 0.0f);
  for (int64_t g = 0; g + 1 < layout.segments; ++g) {
    std::copy_n(first, layout.floats, layout.kept(args.scratch, g));
    for (int64_t m = 0; m < layout.segment; ++m) {
      advance(sweep, g * layout.segment + m, first, first);
    }
  }
  for (int64_t g = layout.segments; g-- > 0;) {
    const int64_t start = g * layout.segment;
    const int64_t count = std::min(layout.segment, layout.chunks - start);
    if (g + 1 < layout.segments) {
      std::copy_n(layout.kept(args.scratch, g), layout.floats, first);
    }
    for (int64_t m = 0; m + 1 < count; ++m) {
      advance(sweep, start + m, layout.state(args.scratch, m), layout.state(args.scratch, m + 1));
    }
    for (int64_t m = count; m-- > 0;) {
      back(sweep, start + m, layout.state(args.scratch, m), gradient);
    }
  }
}

void both_gradients(const GlaBackwardArgs& args) {
  const bool both = args.alpha_forward != nullptr && args.alpha_backward != nullptr;
  if (args.alpha_forward != nullptr) {
    gradients({args, args.alpha_forward, args.dlog_alpha_forward, false, false, false});
  }
  if (args.alpha_backward != nullptr) {
    gradients({args, args.alpha_backward, args.dlog_alpha_backward, true, both,
               both && args.dlog_alpha_forward == args.dlog_alpha_backward});
  }
}

size_t layout_floats(int64_t tokens, int64_t key_dim, int64_t value_dim) {
  return Layout(tokens, key_dim, value_dim).total();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {
namespace {

HWY_EXPORT(both_gradients);
HWY_EXPORT(layout_floats);

// dv_t = scale * k_t (what the later queries leave): a scan from the other end with the roles of q
// and k exchanged, do for v, and a token's gate between itself and the one before it.
void value_gradient(const GlaBackwardArgs& args) {
  GlaArgs scan;
  scan.tokens = args.tokens;
  scan.key_dim = args.key_dim;
  scan.value_dim = args.value_dim;
  scan.q = args.k;
  scan.k = args.q;
  scan.qkv_stride = args.qkv_stride;
  scan.v = args.grad_o;
  scan.v_stride = args.grad_o_stride;
  scan.alpha_forward = args.alpha_backward;
  scan.alpha_backward = args.alpha_forward;
  scan.alpha_stride = args.alpha_stride;
  scan.gates_after = true;
  scan.scale = args.scale;
  scan.o = args.dv;
  scan.o_stride = args.dqkv_stride;
  scan.state = args.scratch;
  gla(scan);
}

}  // namespace

size_t gla_backward_scratch_floats(int64_t tokens, int64_t key_dim, int64_t value_dim) {
  return std::max(HWY_DYNAMIC_DISPATCH(layout_floats)(tokens, key_dim, value_dim),
                  gla_state_floats(key_dim, value_dim));
}

void gla_backward(const GlaBackwardArgs& args) {
  value_gradient(args);
  HWY_DYNAMIC_DISPATCH(both_gradients)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
