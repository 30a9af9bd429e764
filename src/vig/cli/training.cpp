#include "vig/cli/training.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "vig/cli/output.h"
#include "vig/cli/program.h"

namespace vig::cli {
namespace {

constexpr std::string_view kBenchFlag = "--train";
constexpr const char* kProgram = "vig-train";

}  // namespace

bool is_training(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  return command == "train" ||
         (command == "bench" && std::find(argv + 2, argv + argc, kBenchFlag) != argv + argc);
}

int start_training(char** argv) {
  std::vector<char*> arguments = {const_cast<char*>(kProgram), argv[1]};
  const bool bench = std::string_view(argv[1]) == "bench";
  for (char** argument = argv + 2; *argument != nullptr; ++argument) {
    if (!bench || *argument != kBenchFlag) arguments.push_back(*argument);
  }
  arguments.push_back(nullptr);
  const std::filesystem::path own = program_file();
  const std::string beside = own.empty() ? "" : (own.parent_path() / kProgram).string();
  execv(beside.c_str(), arguments.data());
  if (errno == ENOENT) execvp(kProgram, arguments.data());
  if (errno == ENOENT) {
    complain(fmt::format(
        "vig {} needs {}, which is not built: run ./vig train from the source folder, or build "
        "with -DVIG_TORCH=ON (packages libtorch-dev and libgloo-dev)",
        bench ? "bench --train" : "train", kProgram));
  } else {
    complain(fmt::format("{} cannot be started: {}", kProgram, std::strerror(errno)));
  }
  return 1;
}

}  // namespace vig::cli
