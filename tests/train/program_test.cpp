// `vig train` as its users see it: one command, and one sentence when it fails.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/tree.h"
#include "support/xml.h"
#include "train/fixtures.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Arguments = std::vector<std::string>;

class Program : public ::testing::Test {
 protected:
  static Arguments concatenated(Arguments first, const Arguments& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  // On two threads: what the weights may depend on.
  Arguments training(const std::string& out, const Arguments& more = {}) const {
    return concatenated({kVig, "train", (folder_ / "data").string(), "--out",
                         (folder_ / out).string(), "--model", "test_vig", "--set", "embed_dim=32",
                         "--set", "patch_size=8", "--size", "24", "--threads", "2"},
                        more);
  }

  TempDir folder_;
};

TEST_F(Program, AFullDiskBehindItsOutputIsSaidAndCostsNoTraining) {
  write_files(folder_ / "data", striped_images(2, 4));
  const RunResult run = run_program(
      concatenated({"/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/full"},
                   training("run", {"--preset", "small", "--batch", "4", "--epochs", "1"})));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("No space left on device; the run itself is complete"), std::string::npos)
      << run.err;
  EXPECT_TRUE(fs::exists(folder_ / "run/best.safetensors"));
}

TEST_F(Program, TrainsAndTheEngineMeasuresTheSame) {
  write_files(folder_ / "data/train", striped_images(3, 40));
  write_files(folder_ / "data/val", striped_images(3, 50));
  write_file(folder_ / "data/train/class0/notes.txt", "no image");
  const Arguments command = training("run", {"--preset", "small", "--batch", "16", "--epochs", "4",
                                             "--flip", "0", "--ema", "0.9"});
  const RunResult run = run_program(command);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  for (const char* words : {"test_vig: ", "120 images to train on, 150 to validate on",
                            "1 files are not images", "best: "}) {
    EXPECT_NE(run.out.find(words), std::string::npos) << run.out;
  }

  const fs::path out = folder_ / "run";
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(out)) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"best.safetensors", "checkpoint.safetensors",
                                             "curves.svg", "events.out.tfevents.vig", "files.index",
                                             "last.safetensors", "metrics.csv", "run.json"}));
  EXPECT_EQ(xml_problem(read_file(out / "curves.svg")), "");
  const json record = json::parse(read_file(out / "run.json"));
  train::TrainOptions all;
  visit_options(all, [&](const std::string& name, const auto&, const char*) {
    EXPECT_TRUE(record.contains(name)) << name;
  });
  EXPECT_EQ(record["data"], (folder_ / "data").string());
  EXPECT_EQ(record["processes"], 1);
  EXPECT_EQ(record["ema"], 0.9);
  EXPECT_EQ(record["threads"], 2);
  EXPECT_EQ(record["model.patch_size"], 8);
  EXPECT_EQ(record["validation"], "val");

  // The last line within a standard error of the highest is what `vig eval` finds for the best
  // network.
  std::string table = read_file(out / "metrics.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5);
  double high = -1, low = 1e9, best = -1, loss = 0;
  for (size_t line = table.find('\n') + 1; line < table.size(); line = table.find('\n', line) + 1) {
    double epoch, step, lr, train_loss, train_top1, val_loss, val_top1;
    ASSERT_EQ(std::sscanf(table.c_str() + line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &epoch, &step, &lr,
                          &train_loss, &train_top1, &val_loss, &val_top1),
              7);
    const double error = std::sqrt(high * (1 - high) / 150);
    const bool higher = val_top1 > high || (val_top1 == high && val_loss < low);
    if (higher || (error > 0 && val_top1 >= high - error)) {
      best = val_top1;
      loss = val_loss;
    }
    if (higher) {
      high = val_top1;
      low = val_loss;
    }
  }
  EXPECT_GT(best, 0.4) << "better than a guess";
  const RunResult eval = run_program({kVig, "eval", "-m", (out / "best.safetensors").string(),
                                      (folder_ / "data").string(), "--split", "val", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const json measured = json::parse(eval.out);
  EXPECT_EQ(measured["images"], 150);
  EXPECT_NEAR(measured["top1"].get<double>(), best, 1e-6);
  EXPECT_NEAR(measured["loss"].get<double>(), loss, 1e-5);
  EXPECT_EQ(measured["classes"][2]["name"], "class2");

  // The folder of the run says all that.
  const RunResult of_run = run_program({kVig, "eval", out.string(), "--json"});
  ASSERT_EQ(of_run.exit_code, 0) << of_run.err;
  EXPECT_EQ(json::parse(of_run.out)["images"], 150);
  EXPECT_EQ(json::parse(of_run.out)["loss"], measured["loss"]);

  const RunResult again = run_program(command);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("resuming from step 32 of 32"), std::string::npos) << again.out;
}

TEST_F(Program, ContinuesWithoutAReaderOfItsOutput) {
  write_files(folder_ / "data", striped_images(3, 12));
  const Arguments shell = {"bash", "-c", R"("$@" | true; exit "${PIPESTATUS[0]}")", "reader"};
  const Arguments more = {"--batch", "16", "--epochs", "4"};
  const RunResult run = run_program(concatenated(shell, training("run", more)));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const std::string table = read_file(folder_ / "run/metrics.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5) << table;
}

// Without options: a preset, a folder, and no batch that is too large.
TEST_F(Program, ChoosesWhatIsNotGiven) {
  write_files(folder_ / "photos", striped_images(2, 9));
  const Arguments few = {kVig,           "train",    (folder_ / "photos").string(),
                         "--model",      "test_vig", "--set",
                         "embed_dim=32", "--epochs", "1"};
  RunOptions here;
  here.directory = folder_.path();
  const RunResult run = run_program(few, here);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* words :
       {"preset small: 18 images with a typical short side of 24 pixels", "--batch 8",
        "the run's folder is photos-run\n", "16 images to train on, 2 to validate on",
        "2 steps of 2 an epoch", "at epoch 1, in photos-run/best.safetensors"}) {
    EXPECT_NE(run.out.find(words), std::string::npos) << words << "\n" << run.out;
  }
  const std::string first = read_file(folder_ / "photos-run/checkpoint.safetensors");
  const json record = json::parse(read_file(folder_ / "photos-run/run.json"));
  EXPECT_EQ(record["preset"], "small");
  EXPECT_EQ(record["batch"], 8);

  const RunResult again = run_program(few, here);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("the run's folder is photos-run-2\n"), std::string::npos) << again.out;
  EXPECT_TRUE(read_file(folder_ / "photos-run/checkpoint.safetensors") == first);

  // A batch of everything, said aloud.
  const RunResult large =
      run_program(concatenated(few, {"--batch", "1000", "--out", "large"}), here);
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_NE(large.out.find("the batch of 1,000 exceeds the data"), std::string::npos) << large.out;

  // The folder of a run knows its options; more epochs extend it.
  const RunResult more = run_program(
      {kVig, "train", (folder_ / "photos").string(), "--out", "photos-run", "--epochs", "2"}, here);
  EXPECT_EQ(more.exit_code, 0) << more.err;
  for (const char* words : {"resuming from step 2 of 4", "extended from 1 epochs"}) {
    EXPECT_NE(more.out.find(words), std::string::npos) << more.out;
  }

  // A run may not lie inside of the images.
  RunOptions inside;
  inside.directory = folder_ / "photos/class0";
  Arguments beside = few;
  beside[2] = "..";
  const RunResult out = run_program(beside, inside);
  EXPECT_EQ(out.exit_code, 0) << out.err;
  EXPECT_TRUE(fs::exists(folder_ / "photos-run-3/best.safetensors")) << out.out;
}

TEST_F(Program, MeasuresTheValidationImagesOfARunAgain) {
  Files files = striped_images(2, 30);
  for (int i = 4; i < 30; ++i) files.erase("class1/" + std::to_string(i) + ".png");
  files["class2/only.png"] = files["class0/0.png"];
  write_files(folder_ / "data", files);
  const RunResult run = run_program(training("run", {"--batch", "8", "--epochs", "2"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("no image to validate on for class2"), std::string::npos) << run.err;
  for (const char* words : {"balanced accuracy, the mean of the classes' recalls", "val balanced",
                            "% balanced accuracy ("}) {
    EXPECT_NE(run.out.find(words), std::string::npos) << run.out;
  }
  const json state = json::parse(read_file(folder_ / "run/run.json"));
  EXPECT_EQ(state["validation"], "validation.txt");
  const std::string names = read_file(folder_ / "run/validation.txt");
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), state["val_images"].get<int>());

  const auto eval = [&](const Arguments& more) {
    return run_program(concatenated({kVig, "eval", (folder_ / "run").string(), "--json"}, more));
  };
  const RunResult first = eval({});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json measured = json::parse(first.out);
  EXPECT_EQ(measured["images"], state["val_images"]);
  EXPECT_EQ(measured["classes"][1]["images"], 1);
  // Of the lines of the table one has this loss: that of the best network.
  const std::string table = read_file(folder_ / "run/metrics.csv");
  double nearest = 1;
  for (size_t line = table.find('\n') + 1; line < table.size(); line = table.find('\n', line) + 1) {
    double val_loss = 0;
    ASSERT_EQ(std::sscanf(table.c_str() + line, "%*f,%*f,%*f,%*f,%*f,%lf", &val_loss), 1);
    nearest = std::min(nearest, std::abs(val_loss - measured["loss"].get<double>()));
  }
  EXPECT_LT(nearest, 1e-5) << table;

  // Images that came later are none of these, and the data may move.
  write_file(folder_ / "data/class1/later.png", files["class0/0.png"]);
  fs::rename(folder_ / "data", folder_ / "moved");
  const RunResult gone = eval({});
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_NE(gone.err.find("name their present folder: vig eval"), std::string::npos) << gone.err;
  const RunResult moved = eval({(folder_ / "moved").string()});
  ASSERT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_EQ(json::parse(moved.out)["loss"], measured["loss"]);
  fs::remove_all(folder_ / "moved/class1");
  const RunResult fewer = eval({(folder_ / "moved").string()});
  EXPECT_EQ(fewer.exit_code, 1);
  EXPECT_NE(fewer.err.find("validation.txt: names the image \"class1/"), std::string::npos)
      << fewer.err;

  // A pipe without a writer.
  fs::remove(folder_ / "run/validation.txt");
  ASSERT_EQ(mkfifo((folder_ / "run/validation.txt").c_str(), 0600), 0);
  const RunResult pipe = eval({(folder_ / "moved").string()});
  EXPECT_EQ(pipe.exit_code, 1);
  EXPECT_NE(pipe.err.find("validation.txt: expected a regular file"), std::string::npos)
      << pipe.err;
}

TEST_F(Program, FineTunesTheDefaultModel) {
  write_files(folder_ / "data", striped_images(3, 4));
  const RunResult run =
      run_program({kVig, "train", (folder_ / "data").string(), "--out", (folder_ / "run").string(),
                   "--model", "default", "--epochs", "1", "--probe"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* words :
       {"default.safetensors: 2,959,488 parameters loaded, 771 begin fresh",
        "the file's 10 classes are not these 3", "771 of 2,960,259 parameters learn"}) {
    EXPECT_NE(run.out.find(words), std::string::npos) << words << "\n" << run.out;
  }
}

// The name is that of a file; what is wrong with it for these data is said of the file.
TEST_F(Program, ModelsThatComeWithVigHaveNames) {
  write_files(folder_ / "data", striped_images(3, 4));
  for (const std::string name : {"segment", "detect"}) {
    const RunResult run = run_program({kVig, "train", (folder_ / "data").string(), "--out",
                                       (folder_ / "run").string(), "--model", name});
    EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
    EXPECT_NE(run.err.find(name + ".safetensors"), std::string::npos) << run.err;
  }
}

// The same command after Ctrl-C: options that were left out are those of the run, the size of the
// input among them, which is the file's and not the image_size of its network.
TEST_F(Program, ResumesAFineTuningOfTheDefaultModel) {
  write_files(folder_ / "five", striped_images(3, 4));
  const auto train = [&](const std::string& out, const std::vector<std::string>& environment) {
    RunOptions options;
    options.environment = environment;
    return run_program({kVig, "train", (folder_ / "five").string(), "--out",
                        (folder_ / out).string(), "--model", "default", "--epochs", "2"},
                       options);
  };
  const RunResult stopped = train("stopped/r", signal_at("renamed:run.json:1:INT"));
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  const RunResult resumed = train("stopped/r", {}), whole = train("whole/r", {});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  for (const RunResult& run : {stopped, resumed, whole}) {
    EXPECT_NE(run.out.find(" parameters, 72 x 72 input, "), std::string::npos) << run.out;
  }
  expect_same_runs(folder_ / "stopped/r", folder_ / "whole/r");
  const std::string record = read_file(folder_ / "whole/r/run.json");
  EXPECT_EQ(read_file(folder_ / "stopped/r/run.json"), record);
  EXPECT_EQ(json::parse(record)["size"], 72);
  EXPECT_EQ(json::parse(record)["model.image_size"], 48);
}

TEST_F(Program, FailsInOneSentence) {
  write_files(folder_ / "data", striped_images(2, 12));
  write_file(folder_ / "file", "");
  const auto expect = [&](const Arguments& arguments, int exit_code, const std::string& about) {
    const RunResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(result.err.starts_with("vig: ")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(about), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect(training("run", {"--batch", "many"}), 2, "--batch is 'many'");
  expect(training("run", {"--wheels", "4"}), 2, "--wheels");
  expect(training("run", {"--device", "tpu", "--processes", "2"}), 2, "--device is 'tpu'");
  expect(training("run", {"--group-timeout", "nan", "--processes", "2"}), 2, "--group-timeout");
  expect(training("file", {"--batch", "4"}), 1, (folder_ / "file").string() + ": ");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Program, HelpIsAboutAllTasks) {
  const std::string sentence = "Train or fine-tune a classifier, segmentation network or detector";
  const RunResult list = run_program({kVig, "--help"}),
                  help = run_program({kVig, "train", "--help"});
  EXPECT_NE(list.out.find(sentence), std::string::npos) << list.out;
  for (const std::string& words :
       {sentence, std::string("folders of classes and lists train a classifier"),
        std::string("label maps a segmentation network"),
        std::string("COCO annotations a detector")}) {
    EXPECT_NE(help.out.find(words), std::string::npos) << words << "\n" << help.out;
  }
}

TEST_F(Program, HelpNamesEveryOption) {
  const RunResult help = run_program({kVig, "train", "--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
  EXPECT_NE(help.out.find("Usage: vig train "), std::string::npos) << help.out;
  EXPECT_EQ(help.out.find("vig-train"), std::string::npos) << help.out;
  train::TrainOptions all;
  visit_options(all, [&](const std::string& name, const auto&, const char*) {
    const std::string option = name == "model" ? "-m,--model" : "--" + name;
    EXPECT_NE(help.out.find("\n  " + option + " "), std::string::npos) << name;
  });
}

}  // namespace
}  // namespace vig::test
