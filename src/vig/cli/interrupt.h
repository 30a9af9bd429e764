// Signals that ask the program to end: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//
// At first each removes the temporary files and ends the program at once. After catch_interrupt()
// running work is finished and reported, then the program ends; a second signal ends it at
// once. The exit status is 128 + the signal's number. A SIGHUP that is ignored when the program
// starts (nohup) stays ignored.
#pragma once

namespace vig::cli {

inline constexpr int kInterruptedExit = 130;  // of Ctrl-C

// Once, at the start. Besides: writes beyond a file size limit and to a reader that has gone fail
// with an error instead of ending the program.
void handle_signals();

void catch_interrupt();
bool interrupted();
// kInterruptedExit where no signal came: another process of the same run had it.
int interrupted_exit();

}  // namespace vig::cli
