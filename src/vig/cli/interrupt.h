// Ctrl-C: what is under way is finished and told, then the program ends. A second one ends it at
// once.
#pragma once

namespace vig::cli {

inline constexpr int kInterruptedExit = 130;

void catch_interrupt();
bool interrupted();

}  // namespace vig::cli
