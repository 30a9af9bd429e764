// What libFuzzer calls. VIG_FUZZ_TARGET is the function of one target.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"
#include "vig/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    vig::fuzz::VIG_FUZZ_TARGET({data, size});
  } catch (const vig::Error&) {
  }
  return 0;
}
