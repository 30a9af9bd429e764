#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <set>

#include "cli/vig.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"
#include "vig/weights/elements.h"
#include "vig/weights/load.h"
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

TEST(Convert, EveryKindOfCheckpointGivesTheGoldenResult) {
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

TEST(Convert, TheFileAsksForAnotherSizeOnRequest) {
  const TempDir folder;
  const std::string own = (folder / "own.safetensors").string();
  const std::string other = (folder / "other.safetensors").string();
  const std::string photo = data("image/photos/flower.webp");
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), own, "--arch", "test_vig"}));
  expect_success(vig({"convert", own, other, "--size", "96"}));
  const RunResult asked = vig({"classify", "-m", own, "--size", "96", "--json", photo});
  expect_success(asked);
  EXPECT_EQ(vig({"classify", "-m", other, "--json", photo}).out, asked.out);
  EXPECT_NE(vig({"classify", "-m", own, "--json", photo}).out, asked.out);
  // Of whole images the short side.
  for (const char* file : {"seg-own", "seg-other"}) {
    std::vector<std::string> command = {"convert", "--random", "test_vig_h_upernet",
                                        (folder / file).string() + ".safetensors"};
    if (std::string(file) == "seg-other") command.insert(command.end(), {"--size", "96"});
    expect_success(vig(command));
  }
  const RunResult wide = vig({"segment", "-m", (folder / "seg-own.safetensors").string(), "--size",
                              "96", "--json", "--out", (folder / "a").string(), photo});
  expect_success(wide);
  const RunResult set = vig({"segment", "-m", (folder / "seg-other.safetensors").string(), "--json",
                             "--out", (folder / "a").string(), photo});
  expect_success(set);
  EXPECT_EQ(set.out, wide.out);
  const std::string fixed = (folder / "fixed.safetensors").string();
  expect_complaint(vig({"convert", "--random", "test_gmlp", fixed, "--size", "96"}), 2, "64 x 64");
  expect_complaint(vig({"convert", own, fixed, "--size", "96x64"}), 2, "--size 96x64");
  EXPECT_FALSE(fs::exists(fixed));
}

TEST(Convert, HalfPrecisionOnRequest) {
  const TempDir folder;
  const std::string full = (folder / "full.safetensors").string();
  const std::string half = (folder / "half.safetensors").string();
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), full, "--arch", "test_vig"}));
  // The file describes itself.
  const RunResult result = vig({"convert", full, half, "--dtype", "float16"});
  expect_success(result);
  EXPECT_NE(result.out.find("without names, float16, "), std::string::npos) << result.out;
  EXPECT_LT(fs::file_size(half), fs::file_size(full) * 6 / 10);
  EXPECT_LT(golden_error(half), 1e-2);
}

TEST(Convert, Int8OnRequest) {
  const TempDir folder;
  const std::string photo = data("image/photos/flower.webp");
  for (const char* model : {"test_vig", "test_resnet"}) {  // the second with batch norms
    const std::string full = (folder / model).string() + ".safetensors";
    const std::string stored = (folder / model).string() + "8.safetensors";
    const std::string again = (folder / model).string() + "32.safetensors";
    expect_success(vig({"convert", "--random", model, full}));
    const RunResult result = vig({"convert", full, stored, "--dtype", "int8"});
    expect_success(result);
    EXPECT_NE(result.out.find("float32 and int8"), std::string::npos) << result.out;
    EXPECT_LT(fs::file_size(stored), fs::file_size(full) / 2);
    const auto classified = [&](const std::string& file, const std::string& precision) {
      const RunResult run =
          vig({"classify", "-m", file, photo, "--json", "--top", "10", "--precision", precision});
      expect_success(run);
      return run.out;
    };
    EXPECT_EQ(classified(stored, "int8"), classified(full, "int8"));
    EXPECT_NE(classified(stored, "float32"), classified(full, "float32"));
    // As floats, and the same codes in another file.
    expect_success(vig({"convert", stored, again, "--dtype", "float32"}));
    EXPECT_EQ(classified(again, "float32"), classified(stored, "float32"));
    expect_success(vig({"convert", stored, again, "--force"}));
    EXPECT_EQ(read_file(again), read_file(stored));
  }
}

TEST(Convert, LayersMayStayFloat) {
  const TempDir folder;
  const std::string codes = (folder / "codes.safetensors").string();
  const std::string some = (folder / "some.safetensors").string();
  expect_success(vig({"convert", "--random", "test_vig", codes, "--dtype", "int8"}));
  // Of codes, too.
  const std::vector<std::vector<std::string>> sources = {{"--random", "test_vig"}, {codes}};
  for (const std::vector<std::string>& source : sources) {
    std::vector<std::string> arguments = {"convert"};
    arguments.insert(arguments.end(), source.begin(), source.end());
    arguments.insert(arguments.end(),
                     {some, "--dtype", "int8", "--float-layers", "blocks.0.*", "--force"});
    expect_success(vig(arguments));
    std::set<std::string> blocks;
    const SafeTensors file = SafeTensors::open(some);
    for (const NamedTensor& tensor : file.tensors()) {
      if (tensor.view.dtype != DType::kI8) continue;
      EXPECT_FALSE(tensor.name.starts_with("blocks.0.")) << tensor.name;
      blocks.insert(tensor.name.substr(0, 9));
    }
    EXPECT_TRUE(blocks.contains("blocks.1."));
  }
  expect_complaint(vig({"convert", codes, some, "--force", "--dtype", "int8", "--float-layers",
                        "no.such.layer"}),
                   2, "no.such.layer");
}

TEST(Convert, TheStoredTypeStaysUnlessTold) {
  const TempDir folder;
  const std::string kept = (folder / "kept.safetensors").string();
  const std::string wide = (folder / "wide.safetensors").string();
  const RunResult result =
      vig({"convert", golden("vig-mini-silu-half-ddp.pth"), kept, "--arch", "test_vig"});
  expect_success(result);
  EXPECT_NE(result.out.find(", float16, "), std::string::npos) << result.out;
  const SafeTensors file = SafeTensors::open(kept);
  for (const NamedTensor& tensor : file.tensors()) {
    EXPECT_EQ(tensor.view.dtype, DType::kF16) << tensor.name;
  }
  const RunResult widened = vig({"convert", kept, wide, "--dtype", "float32"});
  EXPECT_NE(widened.out.find(", float32, "), std::string::npos) << widened.out;
  EXPECT_EQ(SafeTensors::open(wide).tensors()[0].view.dtype, DType::kF32);
  expect_complaint(vig({"convert", kept, wide, "--force", "--dtype", "int4"}), 2, "--dtype");
  const RunResult brain = vig({"convert", kept, wide, "--force", "--dtype", "bfloat16"});
  expect_success(brain);
  EXPECT_NE(brain.out.find(", bfloat16, "), std::string::npos) << brain.out;
  EXPECT_EQ(SafeTensors::open(wide).tensors()[0].view.dtype, DType::kBF16);
}

TEST(Convert, OptionsThatDoNotGoTogether) {
  const TempDir folder;
  const std::string out = (folder / "out.safetensors").string();
  const std::string checkpoint = golden("vig-mini-silu.pth");
  expect_complaint(vig({"convert", checkpoint, out, "--arch", "test_vig", "--random"}), 2,
                   "--random is for the name of a model");
  expect_complaint(vig({"convert", checkpoint, out, "--arch", "test_vig", "--ort"}), 2,
                   "--ort is for ONNX files");
  expect_complaint(vig({"convert", checkpoint, out, "--arch", "test_vig", "--output", "pooled"}), 2,
                   "--output is for ONNX files");
  EXPECT_FALSE(fs::exists(out));
}

TEST(Convert, TheFormatFollowsTheName) {
  const TempDir folder;
  for (const char* name : {"x.pth", "x.onnx.gz", "x"}) {
    const std::string out = (folder / name).string();
    expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig"}), 2,
                     ".safetensors");
    EXPECT_FALSE(fs::exists(out));
  }
}

// As published checkpoints come: random weights without metadata.
std::string write_published(const TempDir& folder, const std::string& name,
                            const std::map<std::string, std::string>& fields,
                            const Metadata& metadata = {}) {
  const std::string file = (folder / (name + ".safetensors")).string();
  ModelSpec spec = find_model(name);
  override_fields(spec, fields);
  const Graph graph = build_graph(spec, spec.recipe.crop, spec.recipe.crop);
  const auto weights = random_weights(graph.params, 1);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < weights->size(); ++i) {
    tensors.push_back(
        {weights->spec(i).name, {weights->data(i), DType::kF32, weights->spec(i).shape}});
  }
  write_safetensors(file, tensors, metadata);
  return file;
}

TEST(Convert, PublishedModelsOfAThousandClassesHaveImagenetsNames) {
  const TempDir folder;
  const std::string file = write_published(folder, "vig_t", {{"image_size", "32"}});
  const std::string out = (folder / "out.safetensors").string();
  const auto names = [&] {
    const RunResult result = vig({"info", out, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["classes"].get<std::vector<std::string>>();
  };
  const RunResult result = vig({"convert", file, out});
  expect_success(result);
  EXPECT_NE(result.out.find("1000 classes with ImageNet's names, "), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("--classes none"), std::string::npos) << result.out;
  ASSERT_EQ(names().size(), 1000u);
  EXPECT_EQ(names()[207], "golden retriever");

  const RunResult without = vig({"convert", file, out, "--force", "--classes", "none"});
  expect_success(without);
  EXPECT_NE(without.out.find("without names"), std::string::npos) << without.out;
  EXPECT_TRUE(names().empty());
  // A file that describes itself and has no names keeps none, unless asked to.
  const std::string again = (folder / "again.safetensors").string();
  const RunResult described = vig({"convert", out, again});
  EXPECT_NE(described.out.find("without names"), std::string::npos) << described.out;
  const RunResult named = vig({"convert", out, again, "--force", "--classes", "imagenet"});
  EXPECT_NE(named.out.find("with ImageNet's names"), std::string::npos) << named.out;
}

TEST(Convert, OtherModelsHaveNoNamesByThemselves) {
  const TempDir folder;
  const std::string out = (folder / "out.safetensors").string();
  const auto says = [&](const std::vector<std::string>& arguments, const std::string& part) {
    std::vector<std::string> all = {"convert"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {out, "--force"});
    const RunResult result = vig(all);
    expect_success(result);
    EXPECT_NE(result.out.find(part), std::string::npos) << result.out;
  };
  // A thousand classes of something else, and a published model of other classes.
  says({write_published(folder, "test_vig", {{"classes", "1000"}}), "--arch", "test_vig"},
       "1000 classes without names");
  says({write_published(folder, "vig_t", {{"image_size", "32"}, {"classes", "999"}})},
       "999 classes without names");
  says({write_published(folder, "vig_t", {{"image_size", "32"}, {"depth", "2"}}), "--arch", "vig_t",
        "--set", "depth=2"},
       "1000 classes without names");
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                        "--classes", "imagenet", "--force"}),
                   1, "imagenet: 1000 class names, expected the model's 10");
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
  const std::string out = (folder / "precious.safetensors").string();
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
                        (folder / "no/such/folder/x.safetensors").string(), "--arch", "test_vig"}),
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
                   1, "none.txt: cannot be opened: No such file");
  const std::string rest = "two\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
  write_file(folder / "latin.txt", "caf\xe9\n" + rest);
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                        "--classes", (folder / "latin.txt").string()}),
                   1, "latin.txt: the class name \"caf");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_complaint(vig({"convert", golden("vig-mini-silu.pth"), out, "--arch", "test_vig",
                        "--classes", (folder / "pipe").string()},
                       {.time_limit = 20}),
                   1, "pipe: expected a regular file, found a device or pipe");
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
