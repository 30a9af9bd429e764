#include "vig/cli/output_file.h"

#include <fmt/format.h>

#include "vig/cli/output.h"

namespace vig::cli {

void OutputFile::finish(bool whole) {
  if (whole) return file_.commit();
  file_.commit_partial();
  complain(fmt::format("what was finished is in {}; {} is as it was", partial_name(path_), path_));
}

}  // namespace vig::cli
