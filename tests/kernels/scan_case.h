// A selective scan with operands at odd offsets and gaps between rows.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "vig/kernels/selective_scan.h"

namespace vig::test {

struct ScanCase {
  ScanCase(int64_t t, int64_t e, int64_t n)
      : tokens(t),
        channels(e),
        states(n),
        u(t, e, 3, 1),
        raw(t, e, 2, 3),
        bc(t, 2 * n, 1, 1),
        bias(1, e, 0, 1),
        d(1, e, 0, 3),
        rates(n, e, 5, 1) {
    const uint32_t seed = static_cast<uint32_t>(t * 10007 + e * 101 + n);
    u.noise(seed);
    raw.noise(seed + 1, -3.0f, 3.0f);
    bc.noise(seed + 2);
    // Step sizes of 0.001 to 0.7 and rates around 1 to 16, as networks have them.
    bias.noise(seed + 3, -5.0f, -1.0f);
    d.noise(seed + 4);
    rates.noise(seed + 5, -23.0f, -0.5f);
  }
  ScanCase(const ScanCase& other)
      : tokens(other.tokens),
        channels(other.channels),
        states(other.states),
        u(other.u),
        raw(other.raw),
        bc(other.bc),
        bias(other.bias),
        d(other.d),
        rates(other.rates) {}

  std::string name() const {
    return "T " + std::to_string(tokens) + ", E " + std::to_string(channels) + ", N " +
           std::to_string(states);
  }
  // All but where y is.
  SelectiveScanArgs args() {
    SelectiveScanArgs args;
    args.tokens = tokens;
    args.channels = channels;
    args.states = states;
    args.u = {u.data(), u.stride, nullptr};
    args.raw = {raw.data(), raw.stride, nullptr};
    args.b = {bc.data(), bc.stride, nullptr};
    args.c = {bc.data() + states, bc.stride, nullptr};
    args.bias = bias.data();
    args.rates = rates.data();
    args.rates_stride = rates.stride;
    args.d = d.data();
    args.y.stride = output().stride;
    state = Scratch(selective_scan_state_floats(channels, states));
    args.state = state.data();
    return args;
  }
  Sheet output() const { return Sheet(tokens, channels, 5, 3); }
  Sheet run() {
    Sheet y = output();
    SelectiveScanArgs scan = args();
    scan.y.data = y.data();
    selective_scan(scan);
    return y;
  }

  int64_t tokens, channels, states;
  Sheet u, raw, bc, bias, d, rates;
  Scratch state{0};
};

}  // namespace vig::test
