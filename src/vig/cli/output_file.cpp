#include "vig/cli/output_file.h"

#include <fmt/format.h>

#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"

namespace vig::cli {

void OutputFile::finish() {
  if (!interrupted()) return file_.commit();
  file_.commit_partial();
  complain(fmt::format("what was finished is in {}; {} is as it was", partial_name(path_), path_));
}

void OutputFile::finish(std::string_view text) {
  write(text);
  finish();
}

}  // namespace vig::cli
