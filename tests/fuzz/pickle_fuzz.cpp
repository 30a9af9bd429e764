#include "fuzz/targets.h"
#include "vig/weights/pickle.h"

namespace vig::fuzz {

void run_pickle(Bytes bytes) {
  const Pickle pickle = Pickle::parse(bytes, "x");
  check(pickle.bytes_read() <= bytes.size(), "more bytes read than there are");
}

}  // namespace vig::fuzz
