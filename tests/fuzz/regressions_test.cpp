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
#include "vig/base/error.h"

namespace vig::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(VIG_SOURCE_DIR) / "tests/fuzz";

const std::map<std::string, void (*)(Bytes)> kTargets = {
    {"avif", run_avif},
    {"bmp", run_bmp},
    {"class_names", run_class_names},
    {"exif", run_exif},
    {"gif", run_gif},
    {"golden", run_golden},
    {"gzip", run_gzip},
    {"heic", run_heic},
    {"jpeg", run_jpeg},
    {"metadata", run_metadata},
    {"pickle", run_pickle},
    {"png", run_png},
    {"pnm", run_pnm},
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

// Seconds; raises what the target must not.
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

class FuzzFolder : public testing::TestWithParam<const char*> {};

TEST_P(FuzzFolder, EndsInSuccessOrError) {
  int count = 0;
  for (const auto& [name, run] : kTargets) {
    const fs::path folder = kFolder / GetParam() / name;
    if (!fs::exists(folder)) continue;
    for (const auto& item : fs::directory_iterator(folder)) {
      SCOPED_TRACE(item.path().string());
      double seconds = 0;
      EXPECT_NO_THROW(seconds = run_file(run, item.path()));
      EXPECT_LT(seconds, 20);  // 2 at most on an idle machine, without sanitisers
      ++count;
    }
  }
  EXPECT_GE(count, 1);
}

INSTANTIATE_TEST_SUITE_P(Folders, FuzzFolder, testing::Values("seeds", "regressions"),
                         [](const auto& suite) { return std::string(suite.param); });

// A folder whose name is no target would be run by nobody.
TEST(Fuzz, EveryFolderBelongsToATarget) {
  for (const char* kind : {"seeds", "regressions"}) {
    for (const auto& item : fs::directory_iterator(kFolder / kind)) {
      EXPECT_TRUE(kTargets.contains(item.path().filename().string())) << item.path();
    }
  }
}

}  // namespace
}  // namespace vig::fuzz
