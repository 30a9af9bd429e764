// `vig eval RUN` on untrusted folders.
#include <gtest/gtest.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class EvalRun : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "run");
    make_model(folder_);
    fs::rename(folder_ / "model.safetensors", folder_ / "run/best.safetensors");
    for (const char* path : {"train/cat/1.png", "train/hen/1.png", "val/hen/2.png"}) {
      fs::create_directories((folder_ / "data" / path).parent_path());
      fs::copy_file(data("image/photos/pixel_1x1.png"), folder_ / "data" / path);
    }
    record_ = {{"data", (folder_ / "data").string()},
               {"validation", "validation.txt"},
               {"max-pixels", 1000},
               {"ignore-orientation", false}};
    write_file(folder_ / "run/validation.txt", "hen/1.png\n");
  }
  RunResult eval(const std::string& record, std::vector<std::string> more = {}) const {
    write_file(folder_ / "run/run.json", record);
    more.insert(more.begin(), {"eval", (folder_ / "run").string(), "--json"});
    return vig(more);
  }
  RunResult eval_with(const char* key, const json& value) const {
    json record = record_;
    record[key] = value;
    return eval(record.dump());
  }

  TempDir folder_;
  json record_;
};

TEST_F(EvalRun, MeasuresWhatTheRecordNames) {
  const RunResult listed = eval(record_.dump());
  expect_success(listed);
  json report = json::parse(listed.out);
  EXPECT_EQ(report["images"], 1);
  EXPECT_EQ(report["classes"][7]["images"], 1);
  const RunResult split = eval_with("validation", "val");
  expect_success(split);
  EXPECT_EQ(json::parse(split.out)["images"], 1);
  // Moved images are found where they are said to be now.
  fs::rename(folder_ / "data", folder_ / "moved");
  expect_complaint(eval(record_.dump()), 1, "no longer there; name their present folder");
  expect_success(eval(record_.dump(), {(folder_ / "moved").string()}));
}

TEST_F(EvalRun, TakesLimitsOfImagesFromTheRecord) {
  fs::copy_file(data("image/photos/cat_chelsea.png"), folder_ / "data/train/hen/1.png",
                fs::copy_options::overwrite_existing);
  const RunResult refused = eval(record_.dump());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("over the limit of 1000 pixels"), std::string::npos) << refused.err;
  expect_success(eval_with("max-pixels", 1 << 20));
}

TEST_F(EvalRun, DoubtfulRecordsAreRefused) {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  expect_complaint(eval(deep), 1, "run.json: expected JSON of at most");
  expect_complaint(eval(std::string(2 << 20, ' ') + record_.dump()), 1, "run.json");
  expect_complaint(eval("{\"data\": "), 1, "run.json: expected JSON");
  expect_complaint(eval("[]"), 1, "run.json: does not name the validation images");
  expect_complaint(eval("{\"data\": \"a\", \"data\": \"b\"}"), 1, "gives \"data\" twice");
  expect_complaint(eval_with("data", 7), 1, "run.json: does not name");
  expect_complaint(eval_with("max-pixels", "7"), 1, "run.json: does not name");
  expect_complaint(eval_with("validation", nullptr), 1, "this run has no validation images");
  for (const char* outside : {"../run/validation.txt", "/dev/zero", "", "train"}) {
    expect_complaint(eval_with("validation", outside), 1, "expected \"val\" or \"validation.txt\"");
  }
}

TEST_F(EvalRun, ListsThatDoNotFitAreRefused) {
  for (const char* names : {"", "hen/3.png\n", "hen/1.png\nhen/1.png\n"}) {
    write_file(folder_ / "run/validation.txt", names);
    expect_complaint(eval(record_.dump()), 1, "run/validation.txt: ");
  }
  fs::remove_all(folder_ / "data/val");
  expect_complaint(eval_with("validation", "val"), 1, "no longer has the split val");
  fs::remove(folder_ / "run/best.safetensors");
  expect_complaint(eval(record_.dump()), 1, "there is no best network yet");
}

}  // namespace
}  // namespace vig::test
