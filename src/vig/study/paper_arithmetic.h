// Checks sentences of the paper against the paper's own tables.
#pragma once

#include <string>

namespace vig::study {

// Markdown: what the text says, what follows from the printed tables, whether they agree.
std::string arithmetic_table();

}  // namespace vig::study
