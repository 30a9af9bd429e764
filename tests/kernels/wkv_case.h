// A bidirectional WKV with operands at odd offsets and gaps between rows.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "vig/kernels/wkv.h"

namespace vig::test {

struct WkvCase {
  WkvCase(int64_t t, int64_t c)
      : tokens(t),
        channels(c),
        k(t, c, 3, 1),
        v(t, c, 2, 3),
        decay(1, c, 0, 1),
        first(1, c, 0, 3),
        scratch(wkv_scratch_floats(t)) {
    const uint32_t seed = static_cast<uint32_t>(t * 10007 + c);
    k.noise(seed, -3.0f, 3.0f);
    v.noise(seed + 1);
    decay.noise(seed + 2, -5.0f, 3.0f);  // where networks begin
    first.noise(seed + 3, -2.0f, 0.0f);
  }
  std::string name(bool released) const {
    return "T " + std::to_string(tokens) + ", C " + std::to_string(channels) +
           (released ? ", released" : "");
  }
  WkvArgs args(bool released, Sheet& y) {
    WkvArgs args;
    args.tokens = tokens;
    args.channels = channels;
    args.k = k.data();
    args.k_stride = k.stride;
    args.v = v.data();
    args.v_stride = v.stride;
    args.decay = decay.data();
    args.first = first.data();
    args.released = released;
    args.y = y.data();
    args.y_stride = y.stride;
    args.scratch = scratch.data();
    return args;
  }
  Sheet output() const { return Sheet(tokens, channels, 5, 3); }

  int64_t tokens, channels;
  Sheet k, v, decay, first;
  Scratch scratch;
};

}  // namespace vig::test
