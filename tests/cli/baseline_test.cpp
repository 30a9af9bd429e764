// vig bench --baseline with baselines made of shell, and with ONNX Runtime where it is installed.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <sstream>

#include "cli/vig.h"
#include "support/tree.h"
#include "vig/models/family.h"
#include "vig/weights/load.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

using nlohmann::json;

constexpr int kClasses = 10;

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A network whose logits are known: the classifier has weights of zero, so its bias is the result.
class BaselineCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelSpec spec = find_model("test_vig");
    override_fields(spec, {{"classes", std::to_string(kClasses)}});
    const Graph graph = build_graph(spec, 64, 64);
    const auto weights = random_weights(graph.params, 1);
    const std::vector<float> zeros(size_t{1} << 16);
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < weights->size(); ++i) {
      const ParamSpec& param = weights->spec(i);
      const float* values = weights->data(i);
      if (param.name == "head.weight") values = zeros.data();
      if (param.name == "head.bias") values = logits_.data();
      tensors.push_back({param.name, {values, DType::kF32, param.shape}});
    }
    model_ = (folder_ / "model.safetensors").string();
    write_safetensors(model_, tensors, {});
    write_logits(logits_, 2);
  }

  void write_logits(const std::vector<float>& logits, int batch) {
    std::string bytes;
    for (int image = 0; image < batch; ++image) bytes += bytes_of(logits);
    write_file(folder_ / "logits.f32", bytes);
  }

  // A baseline that replies as it should but for `changed`, further cases of its `case`.
  std::string baseline(const std::string& changed = "") {
    write_file(folder_ / "baseline.sh", R"(cd "$1"
printf '%s\n' "$VIG_MODEL $VIG_HEIGHT $VIG_WIDTH $VIG_BATCH $VIG_THREADS" >>settings
while read -r verb input output batch height width; do
  case $verb in
)" + changed + R"(
    name) echo 'Fake Engine 1.0' ;;
    run)
      cat "$input" >image.f32
      printf '%s\n' "$batch $height $width" >>sizes
      cat logits.f32 >"$output"
      echo ok ;;
    time) echo '3.5 2000 2500.5 4000 3000' ;;
    rest) echo ok ;;
    memory) echo 123456789 ;;
    *) echo "error no command $verb" ;;
  esac
done
)");
    return "sh '" + (folder_ / "baseline.sh").string() + "' '" + folder_.path().string() + "'";
  }

  RunResult bench(const std::string& baseline, const std::vector<std::string>& more = {},
                  const std::string& sizes = "32x64", const std::string& threads = "1") {
    std::vector<std::string> arguments = {
        "bench", model_,      "--arch", "test_vig",  "--size", sizes,        "--batch",
        "2",     "--threads", threads,  "--seconds", "0.01",   "--baseline", baseline};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return vig(arguments);
  }

  const TempDir folder_;
  const std::vector<float> logits_ = {1, -2, 3, 0.5, 4, -8, 7, 0.25, 2, 5};
  std::string model_;
};

TEST_F(BaselineCommand, IsAReportedRow) {
  const std::string csv = (folder_ / "results.csv").string();
  const RunResult result = bench(baseline(), {"--json", "--csv", csv});
  expect_success(result);
  const json rows = json::parse(result.out)["results"];
  ASSERT_EQ(rows.size(), 2u);
  const json &ours = rows[0], &theirs = rows[1];
  EXPECT_EQ(ours["engine"], "vig");
  EXPECT_TRUE(ours["ratio"].is_null());
  EXPECT_EQ(theirs["engine"], "Fake Engine 1.0");
  EXPECT_EQ(theirs["model"], model_);
  EXPECT_EQ(theirs["batch"], 2);
  EXPECT_EQ(theirs["width"], 64);
  EXPECT_GE(theirs["runs"], 25);  // five of every round
  EXPECT_EQ(theirs["median_ms"], 2500.5);
  EXPECT_NEAR(theirs["images_per_second"], 2 / 2.5005, 1e-9);
  EXPECT_EQ(theirs["process_bytes"], 123456789);
  EXPECT_TRUE(theirs["arena_bytes"].is_null());
  EXPECT_GT(theirs["gflops"], 0);
  const double best = theirs["best_quarter_ms"];
  EXPECT_GE(best, 3.5);
  EXPECT_LT(best, 2000);
  EXPECT_NEAR(theirs["ratio"], ours["best_quarter_ms"].get<double>() / best, 1e-9);
  EXPECT_NEAR(theirs["ratio_median"], ours["median_ms"].get<double>() / 2500.5, 1e-9);
  EXPECT_LT(theirs["difference"], 1e-6);
  const std::string text = read_file(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  const std::string titles = text.substr(0, text.find('\n'));
  EXPECT_TRUE(titles.ends_with(
      ",process_bytes,engine,ratio,ratio_median,difference,proposals,objects,precision"))
      << titles;
  EXPECT_NE(text.find(",\"vig\",,,,,,\"float32\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",,,,123456789,\"Fake Engine 1.0\","), std::string::npos) << text;
}

TEST_F(BaselineCommand, IsStartedForEverySettingAndGetsTheImage) {
  expect_success(bench(baseline(), {}, "32x64,48", "1,2"));
  EXPECT_EQ(read_file(folder_ / "settings"), model_ + " 32 64 2 1\n" + model_ + " 32 64 2 2\n" +
                                                 model_ + " 48 48 2 1\n" + model_ + " 48 48 2 2\n");
  EXPECT_EQ(read_file(folder_ / "sizes"), "2 32 64\n2 32 64\n2 48 48\n2 48 48\n");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "image.f32"), 2u * 3 * 48 * 48 * 4);
}

// The engine has channels last. The values are those of its generator, pixel by pixel.
TEST_F(BaselineCommand, GetsChannelsFirst) {
  expect_success(bench(baseline()));
  constexpr size_t kPlane = 32 * 64;
  std::vector<float> values(2 * 3 * kPlane);
  const std::string bytes = read_file(folder_ / "image.f32");
  ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (uint32_t image = 0; image < 2; ++image) {
    uint32_t state = 12345u + 7919u * image;
    for (size_t pixel = 0; pixel < kPlane; ++pixel) {
      for (size_t channel = 0; channel < 3; ++channel) {
        state = state * 1664525u + 1013904223u;
        ASSERT_EQ(values[(3 * image + channel) * kPlane + pixel],
                  static_cast<float>(state >> 8) * 0x1p-22f - 2.0f)
            << "pixel " << pixel << " of channel " << channel << " of image " << image;
      }
    }
  }
}

TEST_F(BaselineCommand, TableSaysHowTheyCompare) {
  const RunResult result = bench(baseline());
  expect_success(result);
  for (const char* words : {"\nFake Engine 1.0 ", "x its time by the fastest quarters",
                            "x by the medians; logits differ by ", "2500.500", "123 MB"}) {
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
  }
}

TEST_F(BaselineCommand, AnotherNetworkIsNotComparedAndThatIsSaid) {
  write_logits({1, 2}, 1);
  const RunResult table = bench(baseline(), {"--baseline-other", "deit_x"});
  expect_success(table);
  EXPECT_NE(table.out.find("it runs deit_x: results are not compared"), std::string::npos)
      << table.out;
  const RunResult result = bench(baseline(), {"--baseline-other", "deit_x", "--json"});
  expect_success(result);
  const json theirs = json::parse(result.out)["results"][1];
  EXPECT_EQ(theirs["model"], "deit_x");
  EXPECT_TRUE(theirs["difference"].is_null());
  EXPECT_TRUE(theirs["gflops"].is_null());
  EXPECT_TRUE(theirs["dense_multiply_adds"].is_null());
  EXPECT_GT(theirs["ratio"], 0);
  expect_complaint(vig({"bench", "test_vig", "--baseline-other", "deit_x"}), 2, "--baseline");
}

TEST_F(BaselineCommand, AWrongResultIsNotTimed) {
  std::vector<float> wrong = logits_;
  wrong[3] += 8.5e-4f;  // the largest logit is 8
  write_logits(wrong, 2);
  expect_complaint(bench(baseline()), 1, "differ from those of");
  wrong[3] = logits_[3] + 7.5e-4f;
  write_logits(wrong, 2);
  expect_success(bench(baseline()));
  wrong[3] = std::numeric_limits<float>::quiet_NaN();
  write_logits(wrong, 2);
  expect_complaint(bench(baseline()), 1, "differ from those of");
  write_logits(logits_, 1);
  expect_complaint(bench(baseline()), 1, "has 10 logits, but");
  write_file(folder_ / "logits.f32", "abc");
  expect_complaint(bench(baseline()), 1, "wrote 3 bytes");
  write_file(folder_ / "logits.f32", "");
  expect_complaint(bench(baseline()), 1, "wrote 0 bytes");
}

// Engines quantise differently; a result that is wrong shows all the same.
TEST_F(BaselineCommand, Int8IsComparedWithinItsOwnTolerance) {
  std::vector<float> near = logits_;
  near[3] += 0.5f;  // the largest logit is 8
  write_logits(near, 2);
  expect_complaint(bench(baseline()), 1, "expected at most 0.0001");
  const std::vector<std::string> ours = {"--precision", "int8", "--json"};
  const std::vector<std::string> its = {"--baseline-precision", "int8", "--json"};
  for (const std::vector<std::string>& options : {ours, its}) {
    const RunResult result = bench(baseline(), options);
    expect_success(result);
    const json rows = json::parse(result.out)["results"];
    EXPECT_EQ(rows[0]["precision"], options == ours ? "int8" : "float32");
    EXPECT_EQ(rows[1]["precision"], options == its ? "int8" : "float32");
    EXPECT_NEAR(rows[1]["difference"], 0.5 / 8, 1e-6);
  }
  near[3] = logits_[3] + 4.0f;
  write_logits(near, 2);
  expect_complaint(bench(baseline(), its), 1, "differ from those of");
  expect_complaint(vig({"bench", "test_vig", "--baseline-precision", "int8"}), 2, "--baseline");
}

TEST_F(BaselineCommand, NonsenseIsOneSentence) {
  expect_complaint(bench(baseline("time) echo '1 2 fast' ;;")), 1, "'1 2 fast' to 'time'");
  expect_complaint(bench(baseline("time) echo ;;")), 1, "'' to 'time'");
  expect_complaint(bench(baseline("time) echo '3 -1' ;;")), 1, "milliseconds");
  expect_complaint(bench(baseline("time) echo '3 inf' ;;")), 1, "milliseconds");
  expect_complaint(bench(baseline("run) echo maybe ;;")), 1, "'maybe' to 'run', expected ok");
  expect_complaint(bench(baseline("rest) echo no ;;")), 1, "'no' to 'rest'");
  expect_complaint(bench(baseline("memory) echo much ;;")), 1, "'much' to 'memory'");
  expect_complaint(bench(baseline("name) echo ;;")), 1, "to 'name'");
  expect_complaint(bench(baseline("name) printf 'a\\033[2J\\377\\n' ;;\ntime) echo x ;;")), 1,
                   "time");
  expect_complaint(bench(baseline("run) echo error the file is missing ;;")), 1,
                   "reports: the file is missing");
  expect_complaint(bench("yes x | tr -d '\\n'"), 1, "a line of more than");
}

TEST_F(BaselineCommand, ADeadBaselineIsOneSentence) {
  expect_complaint(bench("no-such-baseline 2"), 1, "no-such-baseline");
  expect_complaint(bench("no-such-baseline 2"), 1, "has ended with status 127");
  expect_complaint(bench("true"), 1, "has ended with status 0");
  expect_complaint(bench(baseline("time) echo out of memory >&2; exit 3 ;;")), 1,
                   "has ended with status 3: out of memory");
  expect_complaint(bench("exec " + baseline("time) kill -9 $$ ;;")), 1, "ended by signal 9");
}

TEST_F(BaselineCommand, ASilentBaselineIsGivenUp) {
  // What the baseline has started ends with it: nothing keeps these pipes open.
  expect_complaint(bench("sleep 1000; echo", {"--baseline-timeout", "0.2"}), 1,
                   "did not reply within 0.2 s");
  expect_complaint(bench(baseline("time) sleep 1000 ;;"), {"--baseline-timeout", "1"}), 1,
                   "did not reply within 1");
}

TEST_F(BaselineCommand, AnInterruptEndsTheWait) {
  const std::string out = (folder_ / "out.txt").string();
  // The table's heading has three lines; the baseline never replies to its first command.
  const RunResult result = interrupt_vig({"bench", "test_vig", "--baseline", "sleep 1000"}, out, 3);
  EXPECT_EQ(result.exit_code, 130) << result.err;
}

// Of bench/baselines/compare.sh, with the program that is tested.
RunResult compare(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {std::string(kSourceDir) + "/bench/baselines/compare.sh"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, {.environment = {std::string("VIG=") + kVig}});
}

TEST(OnnxRuntime, GivesOurLogitsInTurns) {
  if (!std::filesystem::exists(std::string(kSourceDir) + "/build/baselines/installed")) {
    GTEST_SKIP() << "ONNX Runtime is not installed: run bench/baselines/install.sh";
  }
  if (!std::filesystem::exists(std::filesystem::path(kVig).replace_filename("vig-onnx"))) {
    GTEST_SKIP() << "vig-onnx is not built";
  }
  const TempDir folder;
  const std::string csv = (folder / "rows.csv").string();
  const RunResult result = compare({"--seconds", "0.05", "--threads", "2", "--csv", csv,
                                    "test_vig@64x96", "test_deit@64", "test_vig:test_deit@64",
                                    "test_deit/int8@64", "test_vig/int8:test_deit@64"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("it runs test_deit: results are not compared"), std::string::npos)
      << result.out;
  const std::string text = read_file(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11) << text;
  std::vector<std::string> precisions;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    precisions.push_back(line.substr(line.rfind(',') + 1));
  }
  EXPECT_EQ(std::vector(precisions.begin() + 7, precisions.end()),
            (std::vector<std::string>{"\"int8\"", "\"int8\"", "\"int8\"", "\"float32\""}));
  for (const char* words :
       {",\"test_vig\",64,96,1,2,", ",\"test_deit\",64,64,1,2,", ",\"ONNX Runtime 1."}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  const RunResult unknown =
      compare({"--seconds", "0.05", "--csv", csv + "2", "test_vig@64", "test_nothing@64"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("not measured: test_nothing@64"), std::string::npos) << unknown.err;
  EXPECT_FALSE(std::filesystem::exists(csv + "2"));
  const std::string finished = read_file(csv + "2.partial");
  EXPECT_EQ(std::count(finished.begin(), finished.end(), '\n'), 3) << finished;
}

TEST(OnnxRuntime, SaysWhatIsWrong) {
  if (run_program({"node", "--version"}).exit_code != 0) GTEST_SKIP() << "there is no node";
  const std::string runner = std::string("'") + kSourceDir + "/bench/baselines/onnxruntime.mjs'";
  const auto bench = [&](const std::string& baseline) {
    return vig({"bench", "test_vig", "--seconds", "0.01", "--baseline", baseline});
  };
  const TempDir folder;
  expect_complaint(bench("VIG_BASELINES='" + folder.path().string() + "' node " + runner + " x 1"),
                   1, "run bench/baselines/install.sh");
  expect_complaint(bench("node " + runner), 1, "usage: onnxruntime.mjs FILE.onnx THREADS");
}

}  // namespace
}  // namespace vig::test
