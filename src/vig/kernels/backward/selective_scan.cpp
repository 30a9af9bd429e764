#include "vig/kernels/backward/selective_scan.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/selective_scan.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// The state before every segment of tokens is kept; those inside are computed again, a vector of
// channels at a time.
constexpr size_t kLanes = kRowLanes;
constexpr size_t kSegment = 32;

struct Sizes {
  Sizes(int64_t tokens, int64_t channels, int64_t count)
      : states(static_cast<size_t>(count)),
        columns(round_up(static_cast<size_t>(channels), kLanes)),
        segments((static_cast<size_t>(tokens) + kSegment - 1) / kSegment) {}
  size_t state() const { return columns * states; }
  size_t vector() const { return kLanes * states; }  // the state of a vector of channels
  size_t floats() const {
    return (segments + 3) * state() + 4 * kSegment * vector() + 3 * kSegment * kLanes + columns +
           std::max(columns, states) + kSegment * states;
  }
  size_t states, columns, segments;
};

// Parts of the scratch. Those of a state are [E / kLanes, N, kLanes].
struct Scratch {
  Scratch(const Sizes& sizes, float* from) {
    const auto take = [&](size_t count) {
      float* part = from;
      from += count;
      return part;
    };
    kept = take(sizes.segments * sizes.state());
    rates = take(sizes.state());
    gradient = take(sizes.state());
    dlog = take(sizes.state());
    decay = take(kSegment * sizes.vector());
    state = take(kSegment * sizes.vector());
    db = take(kSegment * sizes.vector());
    dc = take(kSegment * sizes.vector());
    dt = take(kSegment * kLanes);
    bounded = take(kSegment * kLanes);
    fed = take(kSegment * kLanes);
    limit = take(sizes.columns);
    zeros = take(std::max(sizes.columns, sizes.states));
    b_sums = take(kSegment * sizes.states);
  }
  float* kept;           // the states before each segment
  float* rates;          // filled up with zeros
  float* gradient;       // of the state after the token at hand, from the tokens after it
  float* dlog;           // sums over tokens of dt q
  float *decay, *state;  // [kSegment, N, kLanes], of one vector of channels
  float *db, *dc;        // [kSegment, N, kLanes], sums over vectors of channels
  float *dt, *bounded,
      *fed;               // [kSegment, kLanes]; `bounded` is the step size that exponentials take
  float* limit;           // [E] the largest of those
  float *zeros, *b_sums;  // a missing row; [kSegment, N] B and what is added to it
};

// A vector of channels, `width` of them real.
struct Channels {
  size_t first, width;

  HWY_INLINE RowVec load(const float* row) const {
    return width == kLanes ? hn::LoadU(RowTag(), row + first) : load_part(row + first, width);
  }
  HWY_INLINE void add(RowVec v, float* row) const {
    if (row == nullptr) return;
    v = hn::Add(v, load(row));
    width == kLanes ? hn::StoreU(v, RowTag(), row + first) : store_part(v, row + first, width);
  }
};

// The rows of `count` tokens from `first` on.
struct Segment {
  Segment(const SelectiveScanArgs& args, size_t index, const Scratch& scratch)
      : first(static_cast<int64_t>(index * kSegment)),
        count(std::min(kSegment, static_cast<size_t>(args.tokens - first))) {
    for (size_t t = 0; t < count; ++t) {
      u[t] = row(args.u, t, scratch);
      raw[t] = row(args.raw, t, scratch);
      b[t] = row(args.b, t, scratch);
      c[t] = row(args.c, t, scratch);
      if (args.b_added.data == nullptr) continue;
      const float* added = row(args.b_added, t, scratch);
      float* sum = scratch.b_sums + t * static_cast<size_t>(args.states);
      for (int64_t i = 0; i < args.states; ++i) sum[i] = b[t][i] + added[i];
      b[t] = sum;
    }
  }
  const float* row(const Sequence& sequence, size_t t, const Scratch& scratch) const {
    const float* at = sequence.row(token(t));
    return at == nullptr ? scratch.zeros : at;
  }
  int64_t token(size_t t) const { return first + static_cast<int64_t>(t); }

  int64_t first;
  size_t count;
  const float *u[kSegment], *raw[kSegment], *b[kSegment], *c[kSegment];
};

// dt, what exponentials take of it, and dt u.
HWY_INLINE void prepare(const SelectiveScanArgs& args, const Segment& segment,
                        const Channels& channels, const Scratch& scratch) {
  const RowTag d;
  const RowVec bias = args.bias == nullptr ? hn::Zero(d) : channels.load(args.bias);
  const RowVec limit = hn::Load(d, scratch.limit + channels.first);
  each_interleaved(segment.count, [&](auto together, size_t t) HWY_ATTR {
    constexpr size_t kCount = decltype(together)::value;
    RowVec raw[kCount], dt[kCount];
#pragma GCC unroll 8
    for (size_t k = 0; k < kCount; ++k) {
      raw[k] = hn::Add(channels.load(segment.raw[t + k]), bias);
    }
    softplus(raw, dt);
#pragma GCC unroll 8
    for (size_t k = 0; k < kCount; ++k) {
      const size_t at = (t + k) * kLanes;
      hn::Store(dt[k], d, scratch.dt + at);
      hn::Store(hn::Min(dt[k], limit), d, scratch.bounded + at);
      hn::Store(hn::Mul(dt[k], channels.load(segment.u[t + k])), d, scratch.fed + at);
    }
  });
}

// The states of a vector of channels through a segment, from `before` on. Token t leaves its state
// at state + t * stride, and its decays at decay + t * stride unless that is null.
HWY_INLINE void advance(const Segment& segment, size_t states, const float* rates,
                        const float* before, const Scratch& scratch, float* decay, float* state,
                        size_t stride) {
  const RowTag d;
  for (size_t t = 0; t < segment.count; ++t) {
    const RowVec dt = hn::Load(d, scratch.bounded + t * kLanes);
    const RowVec fed = hn::Load(d, scratch.fed + t * kLanes);
    const float* b = segment.b[t];
    float* after = state + t * stride;
    each_interleaved(states, [&](auto together, size_t i) HWY_ATTR {
      constexpr size_t kCount = decltype(together)::value;
      RowVec rate[kCount], step[kCount], power[kCount];
#pragma GCC unroll 8
      for (size_t k = 0; k < kCount; ++k) {
        step[k] = dt;
        rate[k] = hn::Load(d, rates + (i + k) * kLanes);
      }
      exp2_products<true>(step, rate, power);
#pragma GCC unroll 8
      for (size_t k = 0; k < kCount; ++k) {
        const size_t at = (i + k) * kLanes;
        if (decay != nullptr) hn::Store(power[k], d, decay + t * stride + at);
        const RowVec in = hn::Mul(fed, hn::Set(d, b[i + k]));
        hn::Store(hn::MulAdd(power[k], hn::Load(d, before + at), in), d, after + at);
      }
    });
    before = after;
  }
}

// One token of one vector of channels; `before` is the state before it.
HWY_INLINE void token_back(const SelectiveScanBackwardArgs& args, const Segment& segment, size_t t,
                           const Channels& channels, const Sizes& sizes, const Scratch& scratch,
                           const float* before) {
  const RowTag d;
  const SelectiveScanArgs& scan = args.scan;
  const size_t offset = channels.first * sizes.states;
  float* gradient = scratch.gradient + offset;
  float* dlog = scratch.dlog + offset;
  const float* rates = scratch.rates + offset;
  const size_t at = t * sizes.vector();
  const RowVec dy = channels.load(segment.row(args.dy, t, scratch));
  const RowVec dt = hn::Load(d, scratch.dt + t * kLanes);
  const RowVec fed = hn::Load(d, scratch.fed + t * kLanes);
  RowVec dfed = hn::Zero(d), ddt = hn::Zero(d);
  for (size_t i = 0; i < sizes.states; ++i) {
    const size_t n = i * kLanes;
    const RowVec g = hn::MulAdd(dy, hn::Set(d, segment.c[t][i]), hn::Load(d, gradient + n));
    float *dc = scratch.dc + at + n, *db = scratch.db + at + n;
    hn::Store(hn::MulAdd(dy, hn::Load(d, scratch.state + at + n), hn::Load(d, dc)), d, dc);
    hn::Store(hn::MulAdd(fed, g, hn::Load(d, db)), d, db);
    dfed = hn::MulAdd(g, hn::Set(d, segment.b[t][i]), dfed);
    const RowVec faded = hn::Mul(g, hn::Load(d, scratch.decay + at + n));
    hn::Store(faded, d, gradient + n);
    const RowVec q = hn::Mul(faded, hn::Load(d, before + n));
    ddt = hn::MulAdd(q, hn::Load(d, rates + n), ddt);
    hn::Store(hn::MulAdd(q, dt, hn::Load(d, dlog + n)), d, dlog + n);
  }
  const RowVec u = channels.load(segment.u[t]);
  RowVec du = hn::Mul(dt, dfed);
  if (scan.d != nullptr) du = hn::MulAdd(dy, channels.load(scan.d), du);
  channels.add(du, args.du.row(segment.token(t)));
  // Rates are A / ln 2.
  ddt = hn::MulAdd(u, dfed, hn::Mul(ddt, hn::Set(d, 0.693147181f)));
  RowVec raw = channels.load(segment.raw[t]);
  if (scan.bias != nullptr) raw = hn::Add(raw, channels.load(scan.bias));
  const RowVec draw = hn::Mul(ddt, sigmoid(raw));
  channels.add(draw, args.draw.row(segment.token(t)));
  channels.add(draw, args.dbias);
  if (args.dd != nullptr) channels.add(hn::Mul(dy, u), args.dd);
}

// Adds the sums over lanes of [count, N, kLanes] to rows of N.
HWY_INLINE void add_rows(const Segment& segment, size_t states, const float* sums,
                         const MutableSequence& rows) {
  for (size_t m = 0; m < segment.count; ++m) {
    const size_t t = segment.count - 1 - m;
    float* row = rows.row(segment.token(t));
    if (row == nullptr) continue;
    for (size_t i = 0; i < states; ++i) {
      row[i] += sum_lanes(hn::Load(RowTag(), sums + (t * states + i) * kLanes));
    }
  }
}

// The rates as the kernel reads them, and the largest step sizes.
void begin(const SelectiveScanArgs& args, const Sizes& sizes, const Scratch& scratch) {
  const RowTag d;
  std::fill(scratch.kept, scratch.kept + sizes.state(), 0.0f);
  std::fill(scratch.gradient, scratch.decay, 0.0f);
  std::fill(scratch.zeros, scratch.b_sums, 0.0f);
  float* to = scratch.rates;
  for (size_t first = 0; first < static_cast<size_t>(args.channels); first += kLanes) {
    const Channels channels{first, std::min(kLanes, static_cast<size_t>(args.channels) - first)};
    RowVec fastest = hn::Set(d, -1e-30f);  // a rate of 0 sets no limit
    for (int64_t i = 0; i < args.states; ++i, to += kLanes) {
      const RowVec rate = channels.load(args.rates + i * args.rates_stride);
      hn::Store(rate, d, to);
      fastest = hn::Min(fastest, rate);
    }
    hn::Store(hn::Div(hn::Set(d, kLeastProduct), fastest), d, scratch.limit + first);
  }
}

}  // namespace

size_t scan_backward_floats(int64_t tokens, int64_t channels, int64_t states) {
  return Sizes(tokens, channels, states).floats();
}

void scan_backward(const SelectiveScanBackwardArgs& args) {
  const SelectiveScanArgs& scan = args.scan;
  if (scan.tokens == 0) return;
  const RowTag d;
  const Sizes sizes(scan.tokens, scan.channels, scan.states);
  const Scratch scratch(sizes, args.scratch);
  const size_t states = sizes.states;
  const auto for_each_channels = [&](const auto& f) HWY_ATTR {
    for (size_t first = 0; first < static_cast<size_t>(scan.channels); first += kLanes) {
      f(Channels{first, std::min(kLanes, static_cast<size_t>(scan.channels) - first)},
        first * states);
    }
  };
  begin(scan, sizes, scratch);
  for (size_t s = 0; s + 1 < sizes.segments; ++s) {
    const Segment segment(scan, s, scratch);
    for_each_channels([&](const Channels& channels, size_t offset) HWY_ATTR {
      prepare(scan, segment, channels, scratch);
      const float* before = scratch.kept + s * sizes.state() + offset;
      float* after = scratch.kept + (s + 1) * sizes.state() + offset;
      // One buffer for all tokens: each state replaces the one before it.
      std::copy_n(before, sizes.vector(), after);
      advance(segment, states, scratch.rates + offset, after, scratch, nullptr, after, 0);
    });
  }
  for (size_t m = 0; m < sizes.segments; ++m) {
    const size_t s = sizes.segments - 1 - m;
    const Segment segment(scan, s, scratch);
    std::fill(scratch.db, scratch.dt, 0.0f);
    for_each_channels([&](const Channels& channels, size_t offset) HWY_ATTR {
      const float* kept = scratch.kept + s * sizes.state() + offset;
      prepare(scan, segment, channels, scratch);
      advance(segment, states, scratch.rates + offset, kept, scratch, scratch.decay, scratch.state,
              sizes.vector());
      for (size_t n = 0; n < segment.count; ++n) {
        const size_t t = segment.count - 1 - n;
        const float* before = t == 0 ? kept : scratch.state + (t - 1) * sizes.vector();
        token_back(args, segment, t, channels, sizes, scratch, before);
      }
    });
    add_rows(segment, states, scratch.dc, args.dc);
    add_rows(segment, states, scratch.db, args.db);
    if (args.db_added.data != nullptr) add_rows(segment, states, scratch.db, args.db_added);
  }
  for_each_channels([&](const Channels& channels, size_t offset) HWY_ATTR {
    for (size_t i = 0; i < states; ++i) {
      const size_t at = offset + i * kLanes;
      const RowVec a = hn::Mul(hn::Load(d, scratch.rates + at), hn::Set(d, 0.693147181f));
      channels.add(hn::Mul(a, hn::Load(d, scratch.dlog + at)),
                   args.da_log + static_cast<int64_t>(i) * args.da_log_stride);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(scan_backward_floats);
HWY_EXPORT(scan_backward);

size_t selective_scan_backward_floats(int64_t tokens, int64_t channels, int64_t states) {
  return HWY_DYNAMIC_DISPATCH(scan_backward_floats)(tokens, channels, states);
}

void selective_scan_backward(const SelectiveScanBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(scan_backward)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
