// Options that follow from the data.
#include "vig/train/presets.h"

#include <gtest/gtest.h>

#include "train/dense_fixtures.h"
#include "vig/pipeline/default_model.h"
#include "vig/train/model_rates.h"
#include "vig/train/task.h"

namespace vig::test {
namespace {

using train::choose_preset;
using train::ChosenPreset;
using train::TrainOptions;

using Given = std::map<std::string, std::string>;
const Given kFresh = {{"model", train::kFreshModel}};

TEST(Presets, FollowNumberAndSizeOfTheImages) {
  EXPECT_EQ(choose_preset({1281167, 375}, {}).options.preset, "imagenet");
  EXPECT_EQ(choose_preset({1281167, 32}, {}).options.preset, "small") << "small images";
  EXPECT_EQ(choose_preset({99999, 375}, {}).options.preset, "small") << "few of them";
  EXPECT_EQ(choose_preset({100000, 128}, {}).options.preset, "imagenet") << "enough of both";
  EXPECT_EQ(choose_preset({100000, 127}, {}).options.preset, "small");
  EXPECT_EQ(option_texts(choose_preset({1281167, 375}, {}).options),
            option_texts(train::preset_options("imagenet")));
  EXPECT_EQ(option_texts(choose_preset({50000, 300}, {}).options),
            option_texts(train::preset_options("small")));

  const ChosenPreset few = choose_preset({300, 480}, kFresh);
  EXPECT_EQ(few.options.batch, 16);
  EXPECT_EQ(few.options.lr, 0.00071);
  EXPECT_EQ(few.options.epochs, 53);  // 19 steps each
  EXPECT_EQ(few.options.size, 0);
  for (const char* words :
       {"preset small: 300 images", "480 pixels", "--batch 16 --epochs 53 --lr 0.00071"}) {
    EXPECT_NE(few.sentence.find(words), std::string::npos) << few.sentence;
  }
  EXPECT_EQ(choose_preset({20, 480}, kFresh).options.batch, 8) << "not smaller";
  EXPECT_EQ(choose_preset({20, 480}, kFresh).options.epochs, 100) << "not more";
  for (const size_t images : {2u, 10u, 100u, 1000u, 10000u, 1000000u}) {
    for (const int side : {0, 1, 28, 100, 5000}) {
      const TrainOptions options = choose_preset({images, side}, kFresh).options;
      EXPECT_NO_THROW(check_options(options)) << images << " " << side;
      EXPECT_TRUE(options.size == 0 || options.size >= 64) << options.size;
    }
  }
  EXPECT_EQ(choose_preset({50000, 32}, {}).options.size, 64);
  EXPECT_EQ(choose_preset({50000, 64}, {}).options.size, 128);
  EXPECT_EQ(choose_preset({50000, 35}, {}).options.size, 64) << "70, the multiple below is nearer";
  EXPECT_EQ(choose_preset({50000, 38}, {}).options.size, 80) << "76, the one above";
  EXPECT_EQ(choose_preset({50000, 111}, {}).options.size, 224);
  EXPECT_EQ(choose_preset({50000, 112}, {}).options.size, 0) << "as they are";
}

TEST(Presets, OfDenseTasksFollowTheImages) {
  using enum ModelTask;
  EXPECT_EQ(choose_preset({9999, 600, kSegment}, {}).options.preset, "segment");
  EXPECT_EQ(choose_preset({10000, 600, kSegment}, {}).options.preset, "ade20k");
  EXPECT_EQ(choose_preset({49999, 600, kDetect}, {}).options.preset, "detect");
  EXPECT_EQ(choose_preset({50000, 600, kDetect}, {}).options.preset, "coco");
  const auto options = [](size_t images, int side, ModelTask task) {
    return choose_preset({images, side, task}, kFresh).options;
  };
  EXPECT_EQ(options(800, 511, kSegment).size, 480) << "whole patches";
  EXPECT_EQ(options(800, 512, kSegment).size, 0);
  EXPECT_EQ(options(800, 40, kSegment).size, 64);
  EXPECT_EQ(options(800, 512, kDetect).size, 512);
  EXPECT_EQ(options(800, 800, kDetect).size, 0);
  EXPECT_EQ(options(800, 512, kSegment).epochs, 20) << "100 steps each";
  EXPECT_EQ(options(9, 512, kSegment).epochs, 200);
  EXPECT_EQ(options(9000, 512, kSegment).epochs, 10);
  const TrainOptions given =
      choose_preset({800, 512, kDetect}, {{"size", "96"}, {"epochs", "7"}, {"model", "fresh"}})
          .options;
  EXPECT_EQ(given.size, 96);
  EXPECT_EQ(given.epochs, 7);
  for (const auto& [task, words] :
       {std::pair(kSegment,
                  "preset segment: 9 images with a typical short side of 40 pixels and "
                  "label maps (ade20k is for 10000 and more); for these"),
        {kDetect,
         "preset detect: 9 images with a typical short side of 40 pixels and objects "
         "(coco is for 50000 and more); for these"}}) {
    EXPECT_TRUE(choose_preset({9, 40, task}, kFresh).sentence.starts_with(words));
  }
}

// docs/training.md lists their values.
TEST(Presets, OfDenseTasksHaveTheDocumentedValues) {
  const TrainOptions plain;
  const TrainOptions ade20k = train::preset_options("ade20k"),
                     segment = train::preset_options("segment"),
                     coco = train::preset_options("coco"), detect = train::preset_options("detect");
  struct Values {
    const TrainOptions& options;
    const char *task, *schedule, *lr_drops;
    double epochs;
    int64_t steps;
    int batch, norm_group, warmup_steps;
    double lr, warmup_lr, warmup_epochs, weight_decay, layer_decay, clip, ema;
    float resize_min, resize_max;
    bool photometric;
    int proposal_samples, box_samples;
  };
  const double unused = plain.warmup_epochs;
  const Values all[] = {{ade20k, "segment", "linear", "",      plain.epochs, 160000, 16,
                         2,      1500,      1.2e-4,   1.2e-10, unused,       0.01,   0.95,
                         0,      0,         0.5f,     2,       true,         256,    512},
                        {segment, "segment", "linear", "", 40,   0,    8, 4,    0,   5e-4, 1e-6,
                         2,       0.01,      0.9,      5,  0.99, 0.5f, 2, true, 256, 512},
                        {coco,   "detect", "steps", "8,11", 12, 0, 16, 2,     500, 1e-4, 1e-7,
                         unused, 0.05,     0.85,    0,      0,  1, 1,  false, 256, 512},
                        {detect, "detect", "linear", "", 40,   0, 4, 2,     0,   5e-4, 1e-6,
                         2,      0.05,     0.9,      10, 0.99, 1, 1, false, 128, 128}};
  for (const Values& n : all) {
    TrainOptions expected;
    expected.preset = n.options.preset;
    expected.task = n.task;
    expected.schedule = n.schedule;
    expected.lr_drops = n.lr_drops;
    expected.epochs = n.epochs;
    expected.steps = n.steps;
    expected.batch = n.batch;
    expected.norm_group = n.norm_group;
    expected.warmup_steps = n.warmup_steps;
    expected.lr = n.lr;
    expected.min_lr = 0;
    expected.warmup_lr = n.warmup_lr;
    expected.warmup_epochs = n.warmup_epochs;
    expected.weight_decay = n.weight_decay;
    expected.layer_decay = n.layer_decay;
    expected.clip = n.clip;
    expected.ema = n.ema;
    expected.view.resize_min = n.resize_min;
    expected.view.resize_max = n.resize_max;
    expected.view.photometric = n.photometric;
    expected.proposal_samples = n.proposal_samples;
    expected.box_samples = n.box_samples;
    EXPECT_EQ(option_texts(n.options), option_texts(expected)) << n.options.preset;
  }
}

// docs/training.md lists them beside the paper's.
TEST(Presets, OfThePaperFollowTheModel) {
  const auto fitted = [](const char* preset, const char* model, bool given = false) {
    TrainOptions options = train::preset_options(preset);
    options.model = model;
    train::fit_to_model(options, given ? std::map<std::string, std::string>{{"lr", ""}}
                                       : std::map<std::string, std::string>());
    return options;
  };
  EXPECT_EQ(fitted("imagenet", "vig_t").lr, 1e-3);
  EXPECT_EQ(fitted("imagenet", "vig_t").weight_decay, 0.05);
  EXPECT_EQ(fitted("imagenet", "vig_t").augment.color_jitter, 0) << "off beside RandAugment";
  EXPECT_EQ(fitted("imagenet", "vig_s").lr, 5e-4);
  EXPECT_EQ(fitted("imagenet", "vig_s").weight_decay, 0.1);
  EXPECT_EQ(fitted("imagenet", "vig_b").lr, 1e-3);
  EXPECT_EQ(fitted("imagenet", "vig_h_t").lr, 8e-4);
  EXPECT_EQ(fitted("imagenet", "vig_h_s").lr, 5e-4);
  EXPECT_EQ(fitted("imagenet", "vig_h_s").weight_decay, 0.05);
  EXPECT_EQ(fitted("imagenet", "vig_h_b").lr, 5e-4);
  EXPECT_EQ(fitted("imagenet", "vig_s", true).lr, 1e-3) << "given";
  for (const char* model : {"vig_s", "vig_s_upernet", "vit_s", "vrwkv_s_upernet"}) {
    EXPECT_EQ(fitted("ade20k", model).lr, 6e-5) << model;
    EXPECT_EQ(fitted("ade20k", model).layer_decay, 0.85) << model;
    EXPECT_NEAR(fitted("ade20k", model).warmup_lr, 6e-11, 1e-20) << model;
  }
  EXPECT_EQ(fitted("ade20k", "vig_b_upernet").lr, 6e-5);
  EXPECT_EQ(fitted("ade20k", "vig_b_upernet").layer_decay, 0.8);
  EXPECT_EQ(fitted("ade20k", "vig_t_upernet").lr, 1.2e-4);
  EXPECT_EQ(fitted("ade20k", "vig_h_b_upernet").layer_decay, 1);
  EXPECT_EQ(fitted("coco", "vig_b_maskrcnn").layer_decay, 0.85);
  EXPECT_EQ(fitted("coco", "vig_h_t_maskrcnn").warmup_steps, 1000);
  EXPECT_EQ(option_texts(fitted("small", "vig_s")).at("lr"), "0.002") << "not the paper's";
  TrainOptions file = train::preset_options("imagenet");
  file.model = "a.safetensors";
  file.arch = "vig_s";
  EXPECT_EQ(train::fit_to_model(file, {}), " --lr 0.0005 --weight-decay 0.1");
}

TEST(Presets, LeaveWhatIsGiven) {
  const ChosenPreset chosen =
      choose_preset({300, 32}, {{"batch", "32"}, {"epochs", "3"}, {"model", "vig_s"}});
  EXPECT_EQ(chosen.options.batch, 32);
  EXPECT_EQ(chosen.options.epochs, 3);
  EXPECT_EQ(chosen.options.model, "vig_s");
  EXPECT_EQ(chosen.options.size, 0) << "the model's own";
  EXPECT_EQ(chosen.options.lr, 0.001) << "for that batch";
  EXPECT_EQ(chosen.sentence.find("--batch"), std::string::npos) << chosen.sentence;
  EXPECT_EQ(choose_preset({300, 32}, {{"model", "fresh"}, {"lr", "0.5"}}).options.lr, 0.5);
  EXPECT_EQ(choose_preset({50000, 300}, {{"batch", "512"}}).options.lr, 0.002)
      << "only smaller batches lower it";
  EXPECT_EQ(choose_preset({300, 32}, {{"model", "fresh"}, {"size", "40"}}).options.size, 40);
}

// A user with few images gets a network that has seen others, in minutes.
TEST(Presets, FewImagesBeginWithABundledModel) {
  using enum ModelTask;
  const ChosenPreset few = choose_preset({300, 480}, {});
  EXPECT_EQ(few.options.model, default_model_file());
  EXPECT_EQ(few.options.preset, "finetune");
  EXPECT_EQ(few.options.batch, 16);
  EXPECT_EQ(few.options.epochs, 40);
  EXPECT_EQ(few.options.size, 0) << "the model's own";
  for (const std::string& words :
       {default_model_file(), std::string("--model fresh"), std::string("preset finetune: 300"),
        std::string("more --epochs")}) {
    EXPECT_NE(few.sentence.find(words), std::string::npos) << few.sentence;
  }
  EXPECT_EQ(choose_preset({20000, 64}, {}).options.preset, "finetune");
  EXPECT_EQ(choose_preset({20000, 64}, {}).options.epochs, 5);
  const TrainOptions many = choose_preset({20001, 64}, {}).options;
  EXPECT_EQ(many.preset, "small");
  EXPECT_EQ(many.model, TrainOptions().model);
  // Any weight file is fine-tuned, and a model of the zoo is not.
  EXPECT_EQ(choose_preset({300, 480}, {{"model", "mine.safetensors"}}).options.preset, "finetune");
  EXPECT_EQ(choose_preset({300, 480}, {{"model", "vig_t"}}).options.preset, "small");
  EXPECT_EQ(choose_preset({300, 480}, kFresh).options.preset, "small");
  EXPECT_EQ(choose_preset({300, 480}, {}, /*fields=*/true).options.preset, "small");
  EXPECT_EQ(choose_preset({300, 480}, {}, /*fields=*/true).options.model, TrainOptions().model);
  // Dense networks, too, in short runs.
  const TrainOptions segment = choose_preset({300, 352, kSegment}, {}).options;
  EXPECT_EQ(segment.model, default_model_file(kSegment));
  EXPECT_EQ(segment.epochs, 7);
  EXPECT_EQ(choose_preset({300, 352, kDetect}, {}).options.model, default_model_file(kDetect));
  EXPECT_EQ(choose_preset({2001, 352, kDetect}, {}).options.model, TrainOptions().model);
}

TEST(Presets, MeasureTheTrainingPart) {
  const TempDir folder;
  write_files(folder / "plain", striped_images(2, 6));
  write_file(folder / "plain/class0/9.png", "no image");
  const train::DataFacts plain = train::measure_data((folder / "plain").string(), TrainOptions());
  EXPECT_EQ(plain.images, 13u);
  EXPECT_EQ(plain.short_side, 24);
  write_files(folder / "splits/train", striped_images(2, 5));
  write_files(folder / "splits/val", striped_images(2, 6));
  EXPECT_EQ(train::measure_data((folder / "splits").string(), TrainOptions()).images, 10u);
  // Sampled images come from all of the data, not from its first class alone.
  for (int i = 0; i < 100; ++i) {
    const int side = i < 25 ? 24 : 48;
    write_file(folder / (i < 25 ? "sizes/a" : "sizes/b") / (std::to_string(i) + ".png"),
               png_bytes(Image(side, side)));
  }
  EXPECT_EQ(train::measure_data((folder / "sizes").string(), TrainOptions()).short_side, 48);
  write_file(folder / "bad/a/1.png", "no image");
  write_file(folder / "bad/b/1.png", "no image");
  EXPECT_EQ(train::measure_data((folder / "bad").string(), TrainOptions()).short_side, 0);
}

TEST(Presets, MeasureLabelMapsAndObjects) {
  const TempDir folder;
  write_files(folder / "labelled", labelled_images(3, 2));
  write_files(folder / "annotated", annotated_images(4, 2));
  const train::DataFacts labelled =
      train::measure_data((folder / "labelled").string(), TrainOptions());
  EXPECT_EQ(labelled.task, ModelTask::kSegment);
  EXPECT_EQ(labelled.images, 3u);
  EXPECT_EQ(labelled.short_side, kMadeSide);
  const train::DataFacts annotated =
      train::measure_data((folder / "annotated").string(), TrainOptions());
  EXPECT_EQ(annotated.task, ModelTask::kDetect);
  EXPECT_EQ(annotated.images, 4u);
  EXPECT_EQ(annotated.short_side, kMadeSide);
  // --task overrides the layout of the data.
  const std::pair<const char*, ModelTask> named[] = {{"classify", ModelTask::kClassify},
                                                     {"segment", ModelTask::kSegment},
                                                     {"detect", ModelTask::kDetect}};
  for (const auto& [name, task] : named) {
    TrainOptions options;
    options.task = name;
    for (const char* data : {"labelled", "annotated"}) {
      EXPECT_EQ(task_of(options, (folder / data).string()), task) << name << " " << data;
    }
  }
}

}  // namespace
}  // namespace vig::test
