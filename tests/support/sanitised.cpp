#include "support/sanitised.h"

namespace vig::test {

#ifdef __SANITIZE_ADDRESS__
const bool kSanitised = true;
#else
const bool kSanitised = false;
#endif

}  // namespace vig::test
