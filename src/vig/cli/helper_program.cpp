#include "vig/cli/helper_program.h"

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

constexpr std::string_view kTrainFlag = "--train";
constexpr const char* kTorch =
    "install the package vig-train, run ./vig train from the source folder, or build with "
    "-DVIG_TORCH=ON (packages libtorch-dev and libgloo-dev)";

constexpr HelperProgram kTrain = {"vig-train", "vig train", kTorch};
constexpr HelperProgram kTrainBench = {"vig-train", "vig bench --train", kTorch};
constexpr HelperProgram kReceptiveField = {"vig-train", "vig receptive-field", kTorch};
constexpr HelperProgram kOnnx = {
    "vig-onnx", "vig convert to .onnx",
    "install the package vig-onnx, run ./vig convert from the source folder, or build with "
    "-DVIG_ONNX=ON (packages libonnx-dev and libprotobuf-dev)"};
constexpr HelperProgram kServe = {
    "vig-serve", "vig serve",
    "run ./vig serve from the source folder, or build with -DVIG_SERVER=ON (package libboost-dev)"};
constexpr HelperProgram kStudy = {
    "vig-study", "vig study",
    "run ./vig study from the source folder, or build the target vig-study"};

}  // namespace

std::array<const HelperProgram*, 6> helper_programs() {
  return {&kTrain, &kTrainBench, &kReceptiveField, &kOnnx, &kServe, &kStudy};
}

std::string helper_path(const HelperProgram& helper) {
  const std::filesystem::path own = program_file();
  const std::filesystem::path beside = own.parent_path() / helper.name;
  return !own.empty() && ::access(beside.c_str(), F_OK) == 0 ? beside.string() : helper.name;
}

std::string missing_helper(const HelperProgram& helper) {
  return fmt::format("{} needs {}, which is not there: {}", helper.command, helper.name,
                     helper.remedy);
}

const HelperProgram* find_helper(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  const auto has_argument = [&](const auto& matches) {
    return argc > 2 && std::any_of(argv + 2, argv + argc, matches);
  };
  if (command == "train") return &kTrain;
  if (command == "receptive-field") return &kReceptiveField;
  if (command == "serve") return &kServe;
  if (command == "study") return &kStudy;
  if (command == "bench" && has_argument([](std::string_view a) { return a == kTrainFlag; })) {
    return &kTrainBench;
  }
  if (command == "convert" &&
      has_argument([](std::string_view a) { return a.ends_with(".onnx"); })) {
    return &kOnnx;
  }
  return nullptr;
}

int start_helper(const HelperProgram& helper, char** argv) {
  std::vector<char*> arguments = {const_cast<char*>(helper.name), argv[1]};
  for (char** argument = argv + 2; *argument != nullptr; ++argument) {
    if (&helper != &kTrainBench || *argument != kTrainFlag) arguments.push_back(*argument);
  }
  arguments.push_back(nullptr);
  execvp(helper_path(helper).c_str(), arguments.data());
  if (errno == ENOENT) {
    complain(missing_helper(helper));
  } else {
    complain(fmt::format("{} cannot be started: {}", helper.name, std::strerror(errno)));
  }
  return 1;
}

}  // namespace vig::cli
