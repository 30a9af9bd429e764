// What the studies ask `vig` for, row by row, and what they read from its output.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "study/stand_in.h"
#include "support/errors.h"
#include "vig/base/processors.h"
#include "vig/study/miniature.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

class Started : public ::testing::Test {
 protected:
  // The arguments of the calls for one row, without the name of the table's file.
  std::string asked_for(const std::string& study, const std::string& key, const char* table) {
    const TempDir folder;
    StudyContext context = stand_in(folder, table);
    context.options.threads = default_threads();
    context.options.weights = {"vig_t=own.safetensors"};
    context.options.images = {"photos", "more"};
    row_ = find_study(study).measure(key, context);
    std::string lines = asked(folder);
    const std::string own = folder.path().string() + "/";
    for (size_t at; (at = lines.find(own)) != std::string::npos;) lines.erase(at, own.size());
    return lines;
  }
  std::string bench(const std::string& arguments, const std::string& fields = "") const {
    const size_t seconds = arguments.find(" --seconds");
    return fmt::format("bench {} --batch 1 --threads {}{} --csv row.csv{}\n",
                       arguments.substr(0, seconds), default_threads(), arguments.substr(seconds),
                       fields);
  }

  Row row_;
};

TEST_F(Started, EfficiencyMeasuresItsContenders) {
  EXPECT_EQ(asked_for("efficiency", "deit_t-materialised/224", kBenchTable),
            bench("deit_t --size 224x224 --seconds 3", " --set attention=materialised"));
  EXPECT_EQ(row_.text("engine"), "vig 7");
  EXPECT_EQ(row_.number("best_ms"), 10);
  EXPECT_EQ(asked_for("efficiency", "vrwkv_t/1024", kBenchTable),
            bench("vrwkv_t --size 1024x1024 --seconds 3"));
  EXPECT_EQ(asked_for("efficiency", "vig_t/1536", kBenchTable),
            bench("vig_t --size 1536x1536 --seconds 2"));
  // The logits of one head of 4096 x 4096 patches and a class token, 4 bytes each, and the rest.
  EXPECT_EQ(asked_for("efficiency", "deit_t-materialised/65536", kBenchTable), "");
  EXPECT_TRUE(row_.note.starts_with("left out: needs 1125900.2 GB, ")) << row_.note;
  EXPECT_EQ(asked_for("efficiency", "deit_t-onnxruntime/65536", kBenchTable), "");
  EXPECT_TRUE(row_.note.starts_with("left out: needs 10133100.9 GB, ")) << row_.note;
  test::expect_error(ErrorCode::kInput, {"[efficiency] there is no row 'vig_x/224'"},
                     [&] { asked_for("efficiency", "vig_x/224", kBenchTable); });
}

// The peak is that of the process that embeds the image, not of this one.
TEST_F(Started, MemoryRunsWholeImages) {
  const std::string embed = fmt::format(
      "convert vig_t vig_t.safetensors --random\nembed -m vig_t.safetensors image.tif --whole "
      "--out "
      "image.json --threads {}",
      default_threads());
  EXPECT_EQ(asked_for("memory", "free/512", ""), embed + "\n");
  EXPECT_EQ(row_.text("engine"), "vig 7");
  ASSERT_TRUE(row_.number("process_bytes"));
  EXPECT_GT(*row_.number("process_bytes"), 0);
  EXPECT_TRUE(asked_for("memory", "limited/512", "").starts_with(embed + " --max-memory 250MB "));
  EXPECT_EQ(asked_for("memory", "free/1048576", ""), "");
  EXPECT_TRUE(row_.note.starts_with("left out: needs 49478.0 GB, ")) << row_.note;
  test::expect_error(ErrorCode::kInput, {"[memory] there is no row 'most/512'"},
                     [&] { asked_for("memory", "most/512", ""); });
}

TEST_F(Started, ThroughputMeasuresTheNetworkOfThePapersRow) {
  EXPECT_EQ(asked_for("throughput", "ViT-L/16", kBenchTable),
            bench("deit_b --size 384x384 --seconds 3",
                  " --set image_size=384 --set embed_dim=1024 --set heads=16 --set depth=24"));
  EXPECT_EQ(row_.text("parameters"), "304715752");
  EXPECT_EQ(row_.text("size"), "384");
  EXPECT_EQ(asked_for("throughput", "resnet50", kBenchTable),
            bench("resnet50 --size 224x224 --seconds 3"));
}

TEST_F(Started, DenseTimesTheSizeOfTheRecipe) {
  EXPECT_EQ(asked_for("dense", "vig_t_maskrcnn/time", kBenchTable),
            bench("vig_t_maskrcnn --size 800x1344 --seconds 3"));
  EXPECT_EQ(row_.number("parameters"), std::nullopt) << "counts are another row";
}

// Three rounds, in turns; the interval is that of the rounds.
TEST_F(Started, PairsTakeTurns) {
  const std::string ours = bench("vig_t --size 224x224 --seconds 4"),
                    other = bench("vim_t --size 224x224 --seconds 4");
  EXPECT_EQ(asked_for("throughput", "pairs/ViG-T:Vim-T", kBenchTable),
            ours + other + ours + other + ours + other);
  EXPECT_EQ(row_.number("ratio"), 1);
  EXPECT_EQ(row_.number("ratio_low"), 1);
  EXPECT_EQ(row_.number("ratio_high"), 1);
  EXPECT_EQ(row_.number("memory_ratio"), 1);
  const std::string lines = asked_for("roadmap", "pairs/gla_t_locality:vig_t", kBenchTable);
  EXPECT_NE(lines.find("--set scan=two_pass"), std::string::npos) << lines;
}

// One image needs 3,200 bytes: 64 of them, which is the most, fit any machine.
TEST_F(Started, LargestBatchFollowsFromOneImage) {
  const std::string lines = asked_for("efficiency", "largest/vim_t:512", kBenchTable);
  EXPECT_NE(lines.find("--batch 1 "), std::string::npos) << lines;
  EXPECT_NE(lines.find("--batch 64 "), std::string::npos) << lines;
  EXPECT_EQ(row_.number("batch"), 64);
}

TEST_F(Started, FieldsOfEveryKindOfWeights) {
  const char* table =
      "model,weights,parameters,size,images,area20,area50,area99,outer_level,field\n"
      "vig_t,x,5,224,2,0.1,0.2,0.9,0.5,AAAA\n";
  const auto expected = [](const std::string& network, int size) {
    return fmt::format(
        "receptive-field {} --size {} --seed 1 --threads {} --csv field.csv -- photos more\n",
        network, size, default_threads());
  };
  EXPECT_EQ(asked_for("erf", "vig_t/initial", table), expected("vig_t", 224));
  EXPECT_EQ(row_.number("area99"), 0.9);
  EXPECT_EQ(row_.text("field"), "AAAA");
  EXPECT_FALSE(row_.cells.contains("model") || row_.cells.contains("weights"));
  EXPECT_EQ(asked_for("erf", "vig_t/given", table), expected("own.safetensors", 224));
  const std::string miniature =
      " --set embed_dim=64 --set depth=4 --set heads=2 --set patch_size=4 --set drop_path=0";
  EXPECT_EQ(asked_for("erf", "vig_t/miniature-initial/128", table),
            expected("vig_t" + miniature + " --set image_size=64", 128));
  const std::string run = "runs/vig_t-images-15epochs-64-seed1";
  EXPECT_EQ(asked_for("erf", "vig_t/miniature-trained/192", table),
            "train images --preset small --model vig_t --size 64 --val-share 0.02 --epochs 15 "
            "--eval-every 15 --warmup-epochs 1.5 --ema 0.99 --seed 1 --crop padded" +
                miniature + " --out " + run + "\n" + expected(run + "/last.safetensors", 192));
  test::expect_error(ErrorCode::kInput, {"field.csv", "expected one result, found 1 lines"},
                     [&] { asked_for("erf", "vig_t/initial", "size\n"); });
}

// A run that says nothing of threads resumes on a machine with other ones.
TEST_F(Started, TrainingNamesThreadsThatAreNotAll) {
  const TempDir folder;
  StudyContext context = stand_in(folder, "");
  context.options.threads = default_threads() + 1;
  context.options.epochs = 0.5;
  const fs::path run = trained_miniature("deit_t", 3, {}, context);
  EXPECT_EQ(run, folder / "runs/deit_t-images-0.5epochs-32-seed3");
  const std::string line = asked(folder);
  for (const std::string& words :
       {std::string("--epochs 0.5 --eval-every 0.5 --warmup-epochs 0.05"), std::string("--seed 3"),
        std::string("--set mlp_ratio=6"),
        fmt::format("--out {} --threads {}\n", run.string(), context.options.threads)}) {
    EXPECT_NE(line.find(words), std::string::npos) << words << "\n" << line;
  }
}

// ---- the other engine of the efficiency study ---------------------------------------------

// A folder in which bench/baselines is installed, beside the script that it belongs to.
std::string install_baselines(const TempDir& folder) {
  test::write_file(folder / "bench/baselines/onnxruntime.mjs", "");
  test::write_file(folder / "build/baselines/node_modules/onnxruntime-node/package.json", "");
  return (folder / "build/baselines").string();
}

TEST(OnnxRuntime, IsMeasuredWhereItIsInstalled) {
  const TempDir folder;
  const auto rows = [](const std::string& baselines) {
    StudyOptions options;
    options.baselines = baselines;
    return find_study("efficiency").keys(options).size();
  };
  EXPECT_EQ(rows(""), 7u * 6 + 6 * 3 + 3 * 6) << "and pairs above 224, and largest batches";
  EXPECT_EQ(rows((folder / "build/baselines").string()), 7u * 6 + 6 * 3 + 3 * 6);
  const std::string baselines = install_baselines(folder);
  EXPECT_EQ(rows(baselines), 7u * 7 + 6 * 3 + 3 * 6);
  fs::remove_all(folder / "build/baselines/node_modules/onnxruntime-node");
  EXPECT_EQ(rows(baselines), 7u * 6 + 6 * 3 + 3 * 6);
  install_baselines(folder);
  fs::remove(folder / "bench/baselines/onnxruntime.mjs");
  EXPECT_EQ(rows(baselines), 7u * 6 + 6 * 3 + 3 * 6);
}

// Both engines take turns; the row is the baseline's, with our time beside it.
TEST(OnnxRuntime, RunsOurExportedNetworkInTurns) {
  const TempDir folder;
  const std::string heading = "engine,best_quarter_ms,median_ms,spread,process_bytes\n";
  const std::string ours = "vig,10,11,0.1,5000\n", baseline = "ONNX Runtime,40,44,0.2,\n";
  StudyContext context = stand_in(folder, heading + ours + baseline);
  context.options.baselines = install_baselines(folder);
  context.options.threads = 3;
  context.folder = folder / "it's here";  // a shell reads this path
  fs::create_directories(context.folder);
  const Study& efficiency = find_study("efficiency");
  const Row row = efficiency.measure("deit_t-onnxruntime/224", context);
  const std::map<std::string, std::string> expected = {{"dense_multiply_adds", "1253683200"},
                                                       {"scan_multiply_adds", "0"},
                                                       {"median_ms", "44"},
                                                       {"best_ms", "40"},
                                                       {"spread", "0.2"},
                                                       {"images_per_second", "25"},
                                                       {"vig_t_ms", "10"},
                                                       {"engine", "ONNX Runtime"}};
  EXPECT_EQ(row.cells, expected);
  const std::string root = folder.path().string(), network = "/it's here/deit_t-224.onnx";
  EXPECT_EQ(asked(folder),
            "convert deit_t " + root + network + " --random --size 224 --force\n" +
                "bench vig_t --size 224x224 --batch 1 --threads 3 --seconds 2 --csv " + root +
                "/it's here/row.csv --baseline VIG_BASELINES='" + root +
                "/build/baselines' exec node '" + root + "/bench/baselines/onnxruntime.mjs' '" +
                root +
                "/it'\\''s here/deit_t-224.onnx' \"$VIG_THREADS\" --baseline-other deit_t "
                "--baseline-timeout 600\n");
  EXPECT_TRUE(fs::is_empty(context.folder)) << "the network and the files of the row are removed";
  test::write_file(folder / "table", heading + ours);
  test::expect_error(ErrorCode::kInput, {"--baseline gave 1 results"},
                     [&] { efficiency.measure("deit_t-onnxruntime/224", context); });
}

// ---- settings -----------------------------------------------------------------------------

// Options that change what is measured: rows under others do not belong together.
TEST(StudySettings, NameWhatChangesTheRows) {
  StudyOptions options;
  const auto settings = [&](const char* name) { return find_study(name).settings(options); };
  for (const char* name : {"efficiency", "throughput", "dense", "erf"}) {
    EXPECT_EQ(settings(name), "") << name;
  }
  options.seconds = 0.25;
  options.data = "a/cifar10.tar.gz";
  options.epochs = 30;
  for (const char* name : {"efficiency", "throughput", "dense"}) {
    EXPECT_EQ(settings(name), "seconds=0.25") << name;
  }
  for (const char* name :
       {"roadmap", "resolution", "erf", "overfit", "curve", "segmentation", "detection"}) {
    EXPECT_EQ(settings(name), "data=cifar10.tar.gz epochs=30") << name;
  }
  options.epochs = 0;
  EXPECT_EQ(settings("resolution"), "data=cifar10.tar.gz epochs=15");
  EXPECT_EQ(settings("roadmap"), "data=cifar10.tar.gz epochs=4");
  EXPECT_EQ(settings("overfit"), "data=cifar10.tar.gz epochs=200");
}

}  // namespace
}  // namespace vig::study
