// `vig train ...` and `vig bench --train ...` are the work of another program, vig-train, so that
// `vig` never loads LibTorch. It alone knows their options.
#pragma once

namespace vig::cli {

bool is_training(int argc, char** argv);

// Becomes `vig-train train ...` or `vig-train bench ...`: the one beside this program, else the one
// in PATH. Returns, with an exit status, only if there is none.
int start_training(char** argv);

}  // namespace vig::cli
