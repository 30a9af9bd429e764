// The end of a program that gets no memory.
#pragma once

namespace vig::cli {

// From here on, lack of memory where nothing can be caught (a destructor that allocates) ends the
// process with the usual sentence and exit status 1 instead of an abort.
void handle_memory_lack();

// "vig: not enough memory" on standard error, without any memory; gives the exit status.
int report_memory_lack();

}  // namespace vig::cli
