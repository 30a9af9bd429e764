// Miniatures of segmentation and detection, made by the program itself, and what it writes for
// them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cli/vig.h"

namespace vig::test {

class DenseCommands : public testing::Test {
 protected:
  void SetUp() override {
    segment_ = make("test_vig_upernet", "ant\nbee\ncat\ndog\neel\n");
    detect_ = make("test_vig_maskrcnn", "ant\nbee\ncat\n");
    if (segment_.empty() || detect_.empty()) GTEST_SKIP() << "no such networks in this build";
  }
  // Random weights; empty where the program does not know the network.
  std::string make(const std::string& model, const std::string& classes) {
    const std::string file = (folder_ / (model + ".safetensors")).string();
    write_file(folder_ / "classes.txt", classes);
    const RunResult made =
        vig({"convert", "--random", model, file, "--classes", (folder_ / "classes.txt").string()});
    return made.exit_code == 0 ? file : "";
  }
  RunResult run(const std::string& command, const std::string& model,
                std::vector<std::string> more) const {
    std::vector<std::string> arguments = {command, "-m", model, "--out", out().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return vig(arguments);
  }
  std::filesystem::path out() const { return folder_ / "out"; }
  static std::set<std::string> files_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::set<std::string> written() const { return files_in(out()); }
  // Images of these names with the labels that the model itself gives them.
  std::string predicted_data(const std::vector<std::string>& names) const {
    write_file(folder_ / "data/classes.txt", "ant\nbee\ncat\ndog\neel\n");
    expect_success(run("segment", segment_, {cat_}));
    for (const std::string& name : names) {
      write_file(folder_ / ("data/images/" + name + ".png"), read_file(cat_));
      write_file(folder_ / ("data/labels/" + name + ".png"),
                 read_file(out() / "cat_chelsea.labels.png"));
    }
    return (folder_ / "data").string();
  }

  TempDir folder_;
  std::string segment_, detect_;
  const std::string cat_ = data("image/photos/cat_chelsea.png");
  const std::string flower_ = data("image/photos/flower.webp");
  const std::string broken_ = data("image/broken/zero_byte.png");
};

}  // namespace vig::test
