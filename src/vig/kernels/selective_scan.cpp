#include "vig/kernels/selective_scan.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/selective_scan.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Vectors lie along the channels. A group of kGroup channels takes a chunk of kChunk tokens: first
// the step sizes dt of all, row by row, then the states vector by vector, then what is stored.
constexpr size_t kLanes = kRowLanes;
constexpr size_t kGroup = 64;
constexpr size_t kChunk = 16;

// Parts of args.state. States and rates are [E / kLanes, N, kLanes], filled up with zeros.
struct Scratch {
  explicit Scratch(const SelectiveScanArgs& args) {
    const size_t states = static_cast<size_t>(args.states);
    const size_t columns = round_up(static_cast<size_t>(args.channels), kLanes);
    state = args.state;
    rates = state + columns * states;
    fastest = rates + columns * states;
    dt = fastest + columns;
    fed = dt + kChunk * kGroup;
    zeros = fed + kChunk * kGroup;
    b_sums = zeros + std::max(columns, states);
  }
  static size_t floats(size_t channels, size_t states) {
    const size_t columns = round_up(channels, kLanes);
    return columns * (2 * states + 1) + 2 * kChunk * kGroup + std::max(columns, states) +
           kChunk * states;
  }

  float* state;
  float* rates;
  float* fastest;  // [E] the least of a channel's rates
  float* dt;       // [kChunk, kGroup]
  float* fed;      // [kChunk, kGroup] dt u, then y
  float* zeros;    // a row that is missing
  float* b_sums;   // [kChunk, N] B and what is added to it
};

// Channels from `first` on, `width` of them.
struct Group {
  size_t first, width;
  // The bound is for the compiler, which would doubt that pointers stay in range.
  size_t vectors() const { return std::min(kGroup, (width + kLanes - 1) / kLanes); }
};

// Vector j of a group. kWhole: all of its vectors are.
template <bool kWhole>
HWY_INLINE RowVec load(const Group& group, const float* row, size_t j) {
  const float* from = row + group.first + j * kLanes;
  const size_t rest = std::min(kLanes, group.width - j * kLanes);
  return kWhole || rest == kLanes ? hn::LoadU(RowTag(), from) : load_part(from, rest);
}
template <bool kWhole>
HWY_INLINE void store(RowVec v, const Group& group, float* row, size_t j) {
  float* to = row + group.first + j * kLanes;
  const size_t rest = std::min(kLanes, group.width - j * kLanes);
  kWhole || rest == kLanes ? hn::StoreU(v, RowTag(), to) : store_part(v, to, rest);
}

// The rows of `count` tokens.
struct Chunk {
  size_t count;
  const float *u[kChunk], *raw[kChunk], *b[kChunk], *c[kChunk], *gate[kChunk];
  float* y[kChunk];  // null: nothing is stored
};

// dt and dt u of a group. Returns whether a decay may vanish.
template <bool kWhole>
bool prepare(const SelectiveScanArgs& args, const Chunk& chunk, const Group& group,
             const Scratch& scratch) {
  const RowTag d;
  RowVec least = hn::Zero(d);
  for (size_t t = 0; t < chunk.count; ++t) {
    const float* HWY_RESTRICT raw_row = chunk.raw[t];
    const float* HWY_RESTRICT u_row = chunk.u[t];
    float* HWY_RESTRICT dt_row = scratch.dt + t * kGroup;
    float* HWY_RESTRICT fed_row = scratch.fed + t * kGroup;
    each_interleaved(group.vectors(), [&](auto together, size_t j) HWY_ATTR {
      constexpr size_t kCount = decltype(together)::value;
      RowVec raw[kCount], dt[kCount];
#pragma GCC unroll 8
      for (size_t k = 0; k < kCount; ++k) {
        raw[k] = load<kWhole>(group, raw_row, j + k);
        if (args.bias != nullptr) raw[k] = hn::Add(raw[k], load<kWhole>(group, args.bias, j + k));
      }
      softplus(raw, dt);
#pragma GCC unroll 8
      for (size_t k = 0; k < kCount; ++k) {
        const size_t at = (j + k) * kLanes;
        hn::Store(hn::Mul(dt[k], load<kWhole>(group, u_row, j + k)), d, fed_row + at);
        hn::Store(dt[k], d, dt_row + at);
        const RowVec fastest = hn::Load(d, scratch.fastest + group.first + at);
        least = hn::Min(least, hn::Mul(dt[k], fastest));
      }
    });
  }
  return !hn::AllTrue(d, hn::Ge(least, hn::Set(d, kLeastPower)));
}

// Step sizes so large that dt A exceeds what the exponential takes become as large as it takes: the
// decay is zero for all but rates 10^4 times slower than the channel's fastest.
void bound_step_sizes(const Chunk& chunk, const Group& group, const Scratch& scratch) {
  const RowTag d;
  for (size_t j = 0; j < group.vectors(); ++j) {
    const RowVec fastest = hn::Load(d, scratch.fastest + group.first + j * kLanes);
    const RowVec limit = hn::Div(hn::Set(d, kLeastProduct), hn::Min(fastest, hn::Set(d, -1e-30f)));
    for (size_t t = 0; t < chunk.count; ++t) {
      float* dt = scratch.dt + t * kGroup + j * kLanes;
      hn::Store(hn::Min(hn::Load(d, dt), limit), d, dt);
    }
  }
}

// The states of the group's vector j through a chunk; C h overwrites dt u.
template <bool kVanishing>
void advance(const Chunk& chunk, size_t j, size_t states, const float* HWY_RESTRICT rates,
             float* HWY_RESTRICT state, const Scratch& scratch) {
  const RowTag d;
  for (size_t t = 0; t < chunk.count; ++t) {
    const float* HWY_RESTRICT b = chunk.b[t];
    const float* HWY_RESTRICT c = chunk.c[t];
    float* HWY_RESTRICT fed_row = scratch.fed + t * kGroup + j * kLanes;
    const RowVec dt = hn::Load(d, scratch.dt + t * kGroup + j * kLanes);
    const RowVec fed = hn::Load(d, fed_row);
    RowVec y = hn::Zero(d);
    each_interleaved(states, [&](auto together, size_t i) HWY_ATTR {
      constexpr size_t kCount = decltype(together)::value;
      RowVec rate[kCount], step[kCount], decay[kCount];
#pragma GCC unroll 8
      for (size_t k = 0; k < kCount; ++k) {
        step[k] = dt;
        rate[k] = hn::Load(d, rates + (i + k) * kLanes);
      }
      exp2_products<kVanishing>(step, rate, decay);
#pragma GCC unroll 8
      for (size_t k = 0; k < kCount; ++k) {
        const RowVec before = hn::Load(d, state + (i + k) * kLanes);
        const RowVec h = hn::MulAdd(decay[k], before, hn::Mul(fed, hn::Set(d, b[i + k])));
        hn::Store(h, d, state + (i + k) * kLanes);
        y = hn::MulAdd(hn::Set(d, c[i + k]), h, y);
      }
    });
    hn::Store(y, d, fed_row);
  }
}

// The same for N = 1: the state stays in a register, exponentials of several tokens are
// interleaved.
template <bool kVanishing>
void advance_single(const Chunk& chunk, size_t j, const float* rates, float* state,
                    const Scratch& scratch) {
  const RowTag d;
  RowVec h = hn::Load(d, state);
  each_interleaved(chunk.count, [&](auto together, size_t t) HWY_ATTR {
    constexpr size_t kCount = decltype(together)::value;
    RowVec rate[kCount], dt[kCount], decay[kCount];
#pragma GCC unroll 8
    for (size_t k = 0; k < kCount; ++k) {
      dt[k] = hn::Load(d, scratch.dt + (t + k) * kGroup + j * kLanes);
      rate[k] = hn::Load(d, rates);
    }
    exp2_products<kVanishing>(dt, rate, decay);
#pragma GCC unroll 8
    for (size_t k = 0; k < kCount; ++k) {
      float* fed = scratch.fed + (t + k) * kGroup + j * kLanes;
      h = hn::MulAdd(decay[k], h, hn::Mul(hn::Load(d, fed), hn::Set(d, *chunk.b[t + k])));
      hn::Store(hn::Mul(hn::Set(d, *chunk.c[t + k]), h), d, fed);
    }
  });
  hn::Store(h, d, state);
}

template <bool kVanishing>
void advance_group(const Chunk& chunk, const Group& group, size_t states, const Scratch& scratch) {
  for (size_t j = 0; j < group.vectors(); ++j) {
    const size_t at = (group.first + j * kLanes) * states;
    states == 1
        ? advance_single<kVanishing>(chunk, j, scratch.rates + at, scratch.state + at, scratch)
        : advance<kVanishing>(chunk, j, states, scratch.rates + at, scratch.state + at, scratch);
  }
}

// What is stored of a chunk.
template <bool kWhole, bool kGated>
void finish(const SelectiveScanArgs& args, const Chunk& chunk, const Group& group,
            const Scratch& scratch) {
  const RowTag d;
  const RowVec scale = hn::Set(d, args.scale);
  for (size_t t = 0; t < chunk.count; ++t) {
    if (chunk.y[t] == nullptr) continue;
    for (size_t j = 0; j < group.vectors(); ++j) {
      RowVec y = hn::Load(d, scratch.fed + t * kGroup + j * kLanes);
      if (args.d != nullptr) {
        y = hn::MulAdd(load<kWhole>(group, args.d, j), load<kWhole>(group, chunk.u[t], j), y);
      }
      if (args.add) y = hn::Add(y, load<kWhole>(group, chunk.y[t], j));
      y = hn::Mul(y, scale);
      if (kGated) y = hn::Mul(y, silu(load<kWhole>(group, chunk.gate[t], j)));
      store<kWhole>(y, group, chunk.y[t], j);
    }
  }
}

// The rows of the tokens from `first` on.
void gather(const SelectiveScanArgs& args, int64_t first, const Scratch& scratch, Chunk& chunk) {
  chunk.count = std::min(kChunk, static_cast<size_t>(args.tokens - first));
  for (size_t t = 0; t < chunk.count; ++t) {
    const int64_t n = first + static_cast<int64_t>(t);
    const auto row = [&](const Sequence& sequence) {
      const float* at = sequence.data == nullptr ? nullptr : sequence.row(n);
      return at == nullptr ? scratch.zeros : at;
    };
    chunk.u[t] = row(args.u);
    chunk.raw[t] = row(args.raw);
    chunk.b[t] = row(args.b);
    chunk.c[t] = row(args.c);
    chunk.gate[t] = row(args.gate);
    chunk.y[t] = args.y.row(n);
    if (args.b_added.data == nullptr) continue;
    const float* added = row(args.b_added);
    float* sum = scratch.b_sums + t * static_cast<size_t>(args.states);
    for (int64_t i = 0; i < args.states; ++i) sum[i] = chunk.b[t][i] + added[i];
    chunk.b[t] = sum;
  }
}

// What stays the same through the sequence.
void begin(const SelectiveScanArgs& args, const Scratch& scratch) {
  const RowTag d;
  const size_t channels = static_cast<size_t>(args.channels);
  if (!args.resume) std::fill(scratch.state, scratch.rates, 0.0f);
  std::fill(scratch.zeros, scratch.b_sums, 0.0f);
  float* to = scratch.rates;
  for (size_t first = 0; first < channels; first += kLanes) {
    const Group group{first, std::min(kLanes, channels - first)};
    RowVec fastest = hn::Zero(d);
    for (int64_t i = 0; i < args.states; ++i, to += kLanes) {
      const RowVec rate = load<false>(group, args.rates + i * args.rates_stride, 0);
      hn::Store(rate, d, to);
      fastest = hn::Min(fastest, rate);
    }
    hn::Store(fastest, d, scratch.fastest + first);
  }
}

template <bool kWhole>
void run_group(const SelectiveScanArgs& args, const Chunk& chunk, const Group& group,
               const Scratch& scratch) {
  const size_t states = static_cast<size_t>(args.states);
  if (prepare<kWhole>(args, chunk, group, scratch)) {
    bound_step_sizes(chunk, group, scratch);
    advance_group<true>(chunk, group, states, scratch);
  } else {
    advance_group<false>(chunk, group, states, scratch);
  }
  args.gate.data != nullptr ? finish<kWhole, true>(args, chunk, group, scratch)
                            : finish<kWhole, false>(args, chunk, group, scratch);
}

}  // namespace

size_t scan_state_floats(int64_t channels, int64_t states) {
  return Scratch::floats(static_cast<size_t>(channels), static_cast<size_t>(states));
}

void scan_selectively(const SelectiveScanArgs& args) {
  const Scratch scratch(args);
  const size_t channels = static_cast<size_t>(args.channels);
  begin(args, scratch);
  Chunk chunk;
  for (int64_t n = 0; n < args.tokens; n += static_cast<int64_t>(kChunk)) {
    gather(args, n, scratch, chunk);
    for (size_t first = 0; first < channels; first += kGroup) {
      const Group group{first, std::min(kGroup, channels - first)};
      group.width == kGroup ? run_group<true>(args, chunk, group, scratch)
                            : run_group<false>(args, chunk, group, scratch);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(scan_selectively);
HWY_EXPORT(scan_state_floats);

size_t selective_scan_state_floats(int64_t channels, int64_t states) {
  return HWY_DYNAMIC_DISPATCH(scan_state_floats)(channels, states);
}

void selective_scan_rates(const float* a_log, int64_t channels, int64_t states, float* rates) {
  for (int64_t e = 0; e < channels; ++e) {
    for (int64_t i = 0; i < states; ++i) {
      const double a = -std::exp(static_cast<double>(a_log[e * states + i]));
      rates[i * channels + e] = static_cast<float>(a / std::numbers::ln2);
    }
  }
}

void selective_scan(const SelectiveScanArgs& args) { HWY_DYNAMIC_DISPATCH(scan_selectively)(args); }

}  // namespace vig
#endif  // HWY_ONCE
