// During its lifetime this thread treats values below 1e-38 as zero: a state that fades away would
// otherwise slow every operation on it a hundredfold.
#pragma once

#include <cstdint>

namespace vig {

class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) { set_control(before_ | kFlush); }
  ~FlushDenormals() { set_control(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kFlush = 0x8040;  // FTZ and DAZ of MXCSR
  static uint64_t control() { return __builtin_ia32_stmxcsr(); }
  static void set_control(uint64_t value) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ of FPCR
  static uint64_t control() { return __builtin_aarch64_get_fpcr64(); }
  static void set_control(uint64_t value) { __builtin_aarch64_set_fpcr64(value); }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t control() { return 0; }
  static void set_control(uint64_t) {}
#endif
  uint64_t before_;
};

}  // namespace vig
