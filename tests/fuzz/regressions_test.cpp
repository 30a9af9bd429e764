// Every target on its small seeds and on what fuzzing found before: each file ends in success or in
// vig::Error, and in time.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "fuzz/targets.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/base/error.h"
#include "vig/image/mask.h"

namespace vig::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(test::kSourceDir) / "tests/fuzz";

const std::map<std::string, void (*)(Bytes)> kTargets = {
    {"avif", run_avif},
    {"bmp", run_bmp},
    {"class_names", run_class_names},
    {"coco", run_coco},
    {"csv_list", run_csv_list},
    {"exif", run_exif},
    {"gif", run_gif},
    {"golden", run_golden},
    {"gzip", run_gzip},
    {"heic", run_heic},
    {"http", run_http},
    {"jpeg", run_jpeg},
    {"label_map", run_label_map},
    {"mask_text", run_mask_text},
    {"metadata", run_metadata},
    {"network", run_network},
    {"pair_list", run_pair_list},
    {"pickle", run_pickle},
    {"png", run_png},
    {"pnm", run_pnm},
    {"regions", run_regions},
    {"request_form", run_request_form},
    {"request_json", run_request_json},
    {"request_query", run_request_query},
    {"safetensors", run_safetensors},
    {"tar", run_tar},
    {"tiff", run_tiff},
    {"torch_legacy", run_torch_legacy},
    {"torch_zip", run_torch_zip},
    {"webp", run_webp},
    {"zip", run_zip},
};

TEST(Fuzz, EveryTargetIsListed) {
  std::set<std::string> files, listed;
  for (const auto& item : fs::directory_iterator(kFolder)) {
    const std::string name = item.path().filename().string(), end = "_fuzz.cpp";
    if (name.ends_with(end)) files.insert(name.substr(0, name.size() - end.size()));
  }
  for (const auto& [name, run] : kTargets) listed.insert(name);
  EXPECT_EQ(files, listed);
  const std::string build = test::read_file(kFolder / "CMakeLists.txt");
  for (const std::string& name : files) {
    EXPECT_NE(build.find(" " + name), std::string::npos) << name << " is not in CMakeLists.txt";
  }
}

// Seconds; throws what the target must not.
double run_file(void (*run)(Bytes), const fs::path& file) {
  const std::string bytes = test::read_file(file);
  const auto start = std::chrono::steady_clock::now();
  try {
    run({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Files are run by the target whose name their folder has.
int run_folders(const fs::path& parent) {
  int count = 0;
  if (!fs::exists(parent)) return count;  // nothing was found yet
  for (const auto& item : fs::recursive_directory_iterator(parent)) {
    if (!item.is_regular_file()) continue;
    SCOPED_TRACE(item.path().string());
    const auto target = kTargets.find(item.path().parent_path().filename().string());
    if (target == kTargets.end()) {
      ADD_FAILURE() << "no target is called like the folder";
      continue;
    }
    double seconds = 0;
    EXPECT_NO_THROW(seconds = run_file(target->second, item.path()));
    EXPECT_LT(seconds, 20);  // 2 at most on an idle machine, without sanitisers
    ++count;
  }
  return count;
}

TEST(Fuzz, SeedsEndInSuccessOrError) { EXPECT_GE(run_folders(kFolder / "seeds"), 40); }

TEST(Fuzz, RegressionsEndInSuccessOrError) { run_folders(kFolder / "regressions"); }

// A seed that is refused at its first bytes teaches the fuzzer nothing.
TEST(Fuzz, SeedsAreWhole) {
  for (const auto& item : fs::recursive_directory_iterator(kFolder / "seeds")) {
    if (!item.is_regular_file()) continue;
    const std::string bytes = test::read_file(item.path());
    const auto run = kTargets.at(item.path().parent_path().filename().string());
    EXPECT_NO_THROW(run({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}))
        << item.path();
  }
}

}  // namespace
}  // namespace vig::fuzz
