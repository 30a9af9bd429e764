#include <gtest/gtest.h>

#include <cmath>

#include "cli/vig.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/session.h"
#include "vig/weights/convert.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

// Runs the converted file on the golden input; the largest error as a share of the largest logit.
double golden_error(const std::string& model) {
  ModelRequest request;
  request.model = model;
  const ModelSource source = find_source(request);
  const Graph graph = build_graph(source.spec, 64, 64);
  Session session(PackedModel::make(graph, source_weights(source)), graph,
                  {.batch = 2, .threads = 1, .profile = false, .keep = {}});
  const SafeTensors expected = SafeTensors::open(golden("vig-mini-silu.safetensors"));
  const std::vector<float> input = to_floats(expected.find("input")->view);  // [2, 3, 64, 64]
  constexpr int kPixels = 64 * 64;
  for (int image = 0; image < 2; ++image) {
    for (int c = 0; c < 3; ++c) {
      for (int p = 0; p < kPixels; ++p) {
        session.input(image)[p * 3 + c] = input[(image * 3 + c) * kPixels + p];
      }
    }
  }
  session.run(2);
  const std::vector<float> logits = to_floats(expected.find("output")->view);
  double error = 0, largest = 0;
  for (int i = 0; i < 20; ++i) {
    const double found = session.output("logits", i / 10)[i % 10];
    error = std::max(error, std::abs(found - logits[i]));
    largest = std::max<double>(largest, std::abs(logits[i]));
  }
  return error / largest;
}

TEST(Convert, EveryKindOfCheckpointGivesTheGoldenAnswer) {
  const TempDir folder;
  const std::string out = (folder / "model.safetensors").string();
  for (const char* name : {"vig-mini-silu.pth", "vig-mini-silu-bare.pth",
                           "vig-mini-silu-legacy.pth", "vig-mini-silu-half-ddp.pth"}) {
    SCOPED_TRACE(name);
    const RunResult result = vig({"convert", golden(name), out, "--arch", "test_vig", "--force"});
    expect_success(result);
    EXPECT_NE(result.out.find("40 tensors, given as test_vig"), std::string::npos) << result.out;
    const bool half = std::string(name).find("half") != std::string::npos;
    EXPECT_LT(golden_error(out), half ? 1e-2 : 1e-5);
  }
}

TEST(Convert, HalfPrecisionOnRequest) {
  const TempDir folder;
  const std::string full = (folder / "full.safetensors").string();
  const std::string half = (folder / "half.safetensors").string();
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), full, "--arch", "test_vig"}));
  expect_success(vig({"convert", full, half, "--half"}));  // the file describes itself
  EXPECT_LT(fs::file_size(half), fs::file_size(full) * 6 / 10);
  EXPECT_LT(golden_error(half), 1e-2);
}

TEST(Convert, ArchitectureFromFields) {
  const TempDir folder;
  const std::string out = (folder / "model.safetensors").string();
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "vig_t", "--set",
                      "embed_dim=64", "--set", "heads=2", "--set", "depth=2"}));
  EXPECT_LT(golden_error(out), 1e-5);
}

TEST(Convert, AveragedWeights) {
  const TempDir folder;
  const std::string out = (folder / "model.safetensors").string();
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), out, "--ema", "--arch", "test_vig"}));
  expect_complaint(vig({"convert", golden("vig-mini-silu-bare.pth"), out, "--ema", "--arch",
                        "test_vig", "--force"}),
                   1, "vig-mini-silu-bare.pth");
}

TEST(Convert, RefusesToReplaceAFile) {
  const TempDir folder;
  const std::string out = (folder / "precious").string();
  write_file(out, "mine");
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig"}), 1,
                   "--force");
  EXPECT_EQ(read_file(out), "mine");
}

TEST(Convert, SaysWhatIsMissing) {
  const TempDir folder;
  const std::string out = (folder / "model.safetensors").string();
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out}), 1, "--arch");
  expect_complaint(vig({"convert", "nothing.pth", out}), 1, "nothing.pth");
  expect_complaint(vig({"convert", "vig_t", out}), 2, "carries no weights");
  const RunResult wrong = vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "vig_h_t"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("missing layers.0.blocks.0.op.qkv_proj.weight"), std::string::npos)
      << wrong.err;
  EXPECT_FALSE(fs::exists(out));
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"),
                        (folder / "no/such/folder/x").string(), "--arch", "test_vig"}),
                   1, "no/such/folder");
}

TEST(Convert, ClassNamesMustFit) {
  const TempDir folder;
  const std::string out = (folder / "model.safetensors").string();
  write_file(folder / "two.txt", "one\ntwo\n");
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                        "--classes", (folder / "two.txt").string()}),
                   1, "two.txt: 2 class names, expected the model's 10");
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                        "--classes", (folder / "none.txt").string()}),
                   1, "none.txt: cannot read the class names: No such file");
  const std::string rest = "two\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
  write_file(folder / "latin.txt", "caf\xe9\n" + rest);
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                        "--classes", (folder / "latin.txt").string()}),
                   1, "latin.txt: the class name \"caf");
  EXPECT_FALSE(fs::exists(out));
  write_file(folder / "marked.txt", "\xef\xbb\xbf one \r\n" + rest);
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                      "--classes", (folder / "marked.txt").string()}));
  const RunResult named =
      vig({"classify", "-m", out, "--json", "--top", "10", data("image/photos/flower.webp")});
  EXPECT_NE(named.out.find("\"one\""), std::string::npos) << named.out;
}

}  // namespace
}  // namespace vig::test
