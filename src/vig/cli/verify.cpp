#include "vig/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/base/folder_entries.h"
#include "vig/cli/commands.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"

namespace vig::cli {
namespace {

using Align = Table::Align;
namespace fs = std::filesystem;

struct VerifyCommand {
  std::vector<std::string> cases;
  VerifyOptions options;
  bool json = false;
};

// A folder stands for the safetensors files in it.
std::vector<std::string> case_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      files.push_back(argument);
      continue;
    }
    std::vector<std::string> inside;
    for (const std::string& name : folder_entries(argument, error)) {
      const fs::path path = fs::path(argument) / name;
      if (path.extension() == ".safetensors") inside.push_back(path.string());
    }
    if (error) fail("{}: cannot read the folder: {}", argument, error.message());
    if (inside.empty()) fail("{}: found no .safetensors files in the folder", argument);
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::string as_text(const CaseReport& report) {
  if (!report.skipped.empty()) {
    return fmt::format("{} ({}): skipped: {}\n\n", report.file, report.kind, report.skipped);
  }
  Table table({{"  tensor"},
               {"largest error", Align::kRight},
               {"largest value", Align::kRight},
               {"relative", Align::kRight},
               {""}});
  for (const TensorCheck& check : report.tensors) {
    table.add({"  " + check.name, fmt::format("{:.2e}", check.error),
               fmt::format("{:.2e}", check.largest), fmt::format("{:.2e}", check.relative),
               check.within ? "ok" : "FAILED"});
  }
  return fmt::format("{} ({}): {}\n{}\n", report.file, report.kind,
                     report.passed() ? "ok" : "FAILED", table.text());
}

// JSON knows no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json as_json(const CaseReport& report) {
  Json json = {{"file", report.file}, {"kind", report.kind}, {"ok", report.passed()}};
  if (!report.skipped.empty()) json["skipped"] = report.skipped;
  for (const TensorCheck& check : report.tensors) {
    json["tensors"].push_back({{"name", check.name},
                               {"error", number(check.error)},
                               {"largest", number(check.largest)},
                               {"relative", number(check.relative)},
                               {"ok", check.within}});
  }
  return json;
}

int verify(const VerifyCommand& command) {
  catch_interrupt();
  Json list = Json::array();
  size_t passed = 0, checked = 0, tensors = 0, skipped = 0;
  double worst = 0;
  const std::vector<std::string> files = case_files(command.cases);
  for (const std::string& file : files) {
    if (interrupted()) break;
    ++checked;
    try {
      const CaseReport report = verify_case(file, command.options);
      passed += report.passed() ? 1 : 0;
      skipped += report.skipped.empty() ? 0 : 1;
      tensors += report.tensors.size();
      for (const TensorCheck& check : report.tensors) worst = std::max(worst, check.relative);
      if (command.json) list.push_back(as_json(report));
      if (!command.json) print(as_text(report));
    } catch (const Error& error) {  // the other cases are still checked
      complain(error.what());
      list.push_back({{"file", file}, {"ok", false}, {"error", error.what()}});
    }
    flush_output();
  }
  if (command.json) {
    print_json({{"tolerance", command.options.tolerance}, {"cases", list}});
  } else {
    print(fmt::format(
        "{} of {} cases ok ({} tensors, largest relative error {:.2e}, {:.2e} allowed){}\n",
        passed - skipped, files.size() - skipped, tensors, worst, command.options.tolerance,
        skipped == 0 ? "" : fmt::format("; {} skipped", skipped)));
  }
  if (interrupted()) return interrupted_exit();
  return passed == files.size() ? 0 : 1;
}

}  // namespace

void add_verify(CommandLine& line) {
  auto options = std::make_shared<VerifyCommand>();
  Command& command = line.add_command(
      "verify", "Compare the engine with tensors computed by the original code (docs/verify.md)");
  command.option("cases", options->cases, "Golden cases: .safetensors files, or folders of them")
      .required()
      .value("CASE");
  command
      .option("--tolerance", options->options.tolerance,
              "Largest absolute error allowed, relative to the tensor's largest value")
      .range(0.0, 1e9)
      .show_default()
      .value("X");
  add_threads(command, options->options.threads);
  add_json(command, options->json);
  command.run = [options] { return verify(*options); };
}

}  // namespace vig::cli
