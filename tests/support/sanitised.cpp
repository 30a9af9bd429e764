#include "support/sanitised.h"

namespace vig::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const bool kSanitised = true;
#else
const bool kSanitised = false;
#endif

}  // namespace vig::test
