// Reference implementation of kernels/wkv.h: the formulas as they are written there, in double, in
// time that grows with the square of the tokens. args.scratch is not used.
#pragma once

#include "vig/kernels/wkv.h"

namespace vig::reference {

// W(t, i) = the sum of sign e^log over the `count` terms.
struct WkvWeight {
  struct Term {
    double log;
    double sign;
    double slope;    // d log / dw
    double u_slope;  // d log / du
  } terms[3];
  int count = 0;
};
WkvWeight wkv_weight(int64_t t, int64_t i, int64_t tokens, double w, double u, bool released);

void wkv(const WkvArgs& args);

}  // namespace vig::reference
