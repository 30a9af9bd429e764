// Segmentation and detection as tasks: their data, what the network sees, and what is better.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "support/errors.h"
#include "train/dense_fixtures.h"
#include "vig/train/steps.h"
#include "vig/train/tasks/dense_data.h"
#include "vig/train/tasks/detection.h"
#include "vig/train/tasks/segmentation.h"

namespace vig::test {
namespace {

using nlohmann::json;
using train::TaskData;
using train::TrainOptions;

class DenseTasks : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const Files& files) {
    write_files(folder_ / name, files);
    return (folder_ / name).string();
  }
  TaskData labelled(const std::string& path, const TrainOptions& options) {
    return task_data(train::open_segmentation_data(path, options, 1));
  }
  TaskData annotated(const std::string& path, const TrainOptions& options) {
    return task_data(train::open_detection_data(path, options, 1));
  }
  // The annotations of the training split after `change`.
  static Files changed(Files files, const std::function<void(json&)>& change) {
    std::string& text = files.at("annotations/instances_train.json");
    json annotations = json::parse(text);
    change(annotations);
    text = annotations.dump();
    return files;
  }

  TempDir folder_;
};

TEST_F(DenseTasks, HoldOutAShareByTheSeed) {
  const std::string path = write("data", labelled_images(8, 0));
  TrainOptions options = tiny_segmentation();
  for (const auto& [share, count] : {std::pair(0.01, 1u), {0.25, 2u}, {0.9, 7u}}) {
    options.val_share = share;
    const TaskData data = labelled(path, options);
    ASSERT_NE(data.val, nullptr);
    EXPECT_EQ(data.val->size(), count);
    EXPECT_EQ(data.train->size(), 8 - count);
    std::set<std::string> names;
    std::string held_out;
    for (const auto* part : {data.train.get(), data.val.get()}) {
      std::vector<std::string> own;
      for (size_t i = 0; i < part->size(); ++i) own.push_back(part->location(i));
      EXPECT_TRUE(std::ranges::is_sorted(own)) << "in their order";
      names.insert(own.begin(), own.end());
    }
    EXPECT_EQ(names.size(), 8u) << "each once";
    for (size_t i = 0; i < data.val->size(); ++i) held_out += data.val->path(i) + "\n";
    EXPECT_EQ(data.held_out, held_out);
  }
  options.val_share = 0.25;
  std::set<std::string> choices;
  for (options.seed = 0; options.seed < 6; ++options.seed) {
    choices.insert(labelled(path, options).held_out);
    choices.insert(labelled(path, options).held_out);
  }
  EXPECT_GE(choices.size(), 4u) << "of 28";
  EXPECT_LE(choices.size(), 6u);
  options.val_share = 0;
  EXPECT_EQ(labelled(path, options).val, nullptr);
}

// By its marks a run knows its data again, wherever that lies.
TEST_F(DenseTasks, OtherImagesHaveOtherMarks) {
  const TrainOptions options = tiny_segmentation();
  Files pairs = labelled_images(4, 2);
  const TaskData here = labelled(write("here", pairs), options);
  EXPECT_EQ(labelled(write("there", pairs), options).train_mark, here.train_mark);
  for (const char* folder : {"images/train/", "labels/train/"}) {
    pairs[std::string(folder) + "9.png"] = pairs.extract(std::string(folder) + "3.png").mapped();
  }
  const TaskData renamed = labelled(write("renamed", pairs), options);
  EXPECT_NE(renamed.train_mark, here.train_mark);
  EXPECT_EQ(renamed.val_mark, here.val_mark);

  const Files objects = annotated_images(4, 2);
  const TaskData found = annotated(write("objects", objects), tiny_detection());
  const Files fewer = changed(objects, [](json& text) { text["annotations"].erase(size_t{0}); });
  const TaskData missing = annotated(write("fewer", fewer), tiny_detection());
  EXPECT_NE(missing.train_mark, found.train_mark) << "an object less";
  EXPECT_EQ(missing.val_mark, found.val_mark);
}

TEST_F(DenseTasks, WhatIsLeftOutOfBothSplitsIsCounted) {
  Files files = labelled_images(4, 3);
  for (const char* name : {"images/train/1.png", "images/train/3.png", "labels/val/2.png"}) {
    files.at(name) = "no image";
  }
  const auto data = train::open_segmentation_data(write("data", files), tiny_segmentation(), 1);
  EXPECT_EQ(data.train.size(), 2u);
  EXPECT_EQ(data.val.value().size(), 2u);
  const std::vector<std::string> sentences = train::report_sentences(data.report);
  ASSERT_EQ(sentences.size(), 4u);
  EXPECT_NE(sentences[0].find("images/train/1.png"), std::string::npos) << sentences[0];
  EXPECT_NE(sentences[2].find("labels/val/2.png"), std::string::npos) << sentences[2];
  EXPECT_EQ(sentences[3], "3 samples are left out, 4 remain");
}

TEST_F(DenseTasks, ImagesAreLimited) {
  const std::string pairs = write("pairs", labelled_images(2, 1));
  const std::string objects = write("objects", annotated_images(2, 1));
  TrainOptions options;
  options.max_pixels = kMadeSide * kMadeSide;
  EXPECT_EQ(labelled(pairs, options).train->size(), 2u);
  EXPECT_EQ(annotated(objects, options).train->size(), 2u);
  --options.max_pixels;
  EXPECT_THROW(labelled(pairs, options), Error);
  EXPECT_THROW(annotated(objects, options), Error);
}

// All images are padded to one canvas, as wide as the widest and as high as the highest.
TEST_F(DenseTasks, ACanvasHoldsEveryImage) {
  const auto canvas = [&](const std::string& name, const std::vector<std::pair<int, int>>& sides) {
    const int count = static_cast<int>(sides.size());
    Files files = changed(annotated_images(count, 0), [&](json& text) {
      for (size_t i = 0; i < sides.size(); ++i) {
        text["images"][i]["width"] = sides[i].first;
        text["images"][i]["height"] = sides[i].second;
      }
      for (json& object : text["annotations"]) object.erase("segmentation");
    });
    for (size_t i = 0; i < sides.size(); ++i) {
      files["train/" + std::to_string(i) + ".png"] =
          png_bytes(Image(sides[i].first, sides[i].second));
    }
    TrainOptions options = tiny_detection();
    options.val_share = 0;
    const auto task = train::open_task(options, write(name, files), 1);
    return std::pair(task->model().width, task->model().height);
  };
  EXPECT_EQ(canvas("wide", {{64, 64}, {96, 64}}), std::pair(96, 64));
  EXPECT_EQ(canvas("high", {{64, 90}, {64, 64}}), std::pair(64, 96)) << "multiples of 32";
  EXPECT_EQ(canvas("both", {{96, 64}, {64, 96}}), std::pair(96, 96));
}

// Images of 64 x 64 pixels, the largest of 128 x 96, for inputs with short sides of 64.
TEST_F(DenseTasks, KnowTheSmallestScaleOfTheirImages) {
  const std::string pairs = write("pairs", labelled_images(2, 0));
  Files files = changed(annotated_images(3, 0), [&](json& text) {
    text["images"][1]["width"] = 128;
    text["images"][1]["height"] = 96;
    for (json& object : text["annotations"]) object.erase("segmentation");
  });
  files["train/1.png"] = png_bytes(Image(128, 96));
  const std::string objects = write("objects", files);
  const auto scale = [](TrainOptions options, const std::string& data, float least) {
    options.val_share = 0;
    options.view.resize_min = least;
    return train::open_task(options, data, 1)->data().smallest_scale;
  };
  EXPECT_DOUBLE_EQ(scale(tiny_segmentation(), pairs, 1), 1);
  EXPECT_DOUBLE_EQ(scale(tiny_segmentation(), pairs, 0.5f), 0.5);
  EXPECT_DOUBLE_EQ(scale(tiny_detection(), objects, 1), 64.0 / 96);
  EXPECT_DOUBLE_EQ(scale(tiny_detection(), objects, 0.75f), 48.0 / 96);
}

TEST_F(DenseTasks, ImagesAreMirroredAsFlipSays) {
  const std::string pairs = write("pairs", labelled_images(1, 1));
  const std::string objects = write("objects", annotated_images(1, 1));
  const RandomStream stream(3);
  for (const bool detects : {false, true}) {
    std::vector<std::vector<float>> images;
    std::vector<Target> targets;
    for (const float flip : {0.0f, 1.0f}) {
      TrainOptions options = detects ? tiny_detection() : tiny_segmentation();
      options.augment.flip = flip;
      const auto task = train::open_task(options, detects ? objects : pairs, 1);
      const Sample sample = task->data().train->load(0);
      targets.push_back(*sample.target);
      images.emplace_back(task->image_floats());
      task->write_training(*sample.image, targets.back(), stream, images.back().data());
    }
    const auto pixel = [&](size_t which, int x, int y) {
      return images[which][static_cast<size_t>((y * kMadeSide + x) * 3)];
    };
    int different = 0;
    for (int y = 0; y < kMadeSide; ++y) {
      for (int x = 0; x < kMadeSide; ++x) {
        ASSERT_EQ(pixel(1, x, y), pixel(0, kMadeSide - 1 - x, y)) << detects << x << " " << y;
        different += pixel(1, x, y) != pixel(0, x, y) ? 1 : 0;
      }
    }
    EXPECT_GT(different, 100);
    if (detects) {
      const Box plain = std::get<PlacedObjects>(targets[0]).objects.at(0).box;
      const Box mirrored = std::get<PlacedObjects>(targets[1]).objects.at(0).box;
      EXPECT_EQ(mirrored.x1, static_cast<float>(kMadeSide) - plain.x2);
      EXPECT_EQ(mirrored.y1, plain.y1);
    } else {
      const auto& plain = std::get<LabelMap>(targets[0]);
      EXPECT_NE(std::get<LabelMap>(targets[1]), plain);
      EXPECT_EQ(std::get<LabelMap>(targets[1]).row(5)[kMadeSide - 1], plain.row(5)[0]);
    }
  }
}

TEST_F(DenseTasks, SayWhatIsBetter) {
  const auto segmentation =
      train::open_task(tiny_segmentation(), write("pairs", labelled_images(2, 1)), 1);
  using Figures = std::vector<double>;  // loss, mIoU, pixels
  const Figures middle = {0.5, 0.25, 0.75};
  EXPECT_TRUE(segmentation->better(Figures{0.9, 0.26, 0.1}, middle));
  EXPECT_FALSE(segmentation->better(Figures{0.1, 0.24, 0.9}, middle));
  EXPECT_TRUE(segmentation->better(Figures{0.4, 0.25, 0.1}, middle)) << "on a tie by the loss";
  EXPECT_FALSE(segmentation->better(middle, middle));
  EXPECT_EQ(segmentation->best_by(), "mIoU");
  EXPECT_EQ(segmentation->best_label(middle), "25.00 % mIoU");
  EXPECT_EQ(segmentation->best_sentence(middle), "25.00 % mIoU, 75.00 % of the pixels");
  EXPECT_EQ(segmentation->columns().val[segmentation->best_column()].name, "val_miou");
  EXPECT_EQ(segmentation->loss_note(),
            "The training loss has that of the auxiliary head in it, times 0.4; the validation "
            "loss has not.");

  const Files objects = annotated_images(2, 0);
  TrainOptions options = tiny_detection();
  options.val_share = 0;
  const auto masks = train::open_task(options, write("masks", objects), 1);
  const Figures four = {0.1, 0.2, 0.3, 0.4};  // boxes, at 0.5, masks, at 0.5
  EXPECT_EQ(masks->best_by(), "mask AP");
  EXPECT_EQ(masks->columns().val[masks->best_column()].name, "val_mask_ap");
  EXPECT_EQ(masks->best_label(four), "30.00 % mask AP");
  EXPECT_EQ(masks->best_sentence(four),
            "box AP 10.00 % (AP50 20.00 %), mask AP 30.00 % (AP50 40.00 %)");
  EXPECT_EQ(metrics_csv(masks->columns(), {}),
            "epoch,step,lr,train_loss,train_rpn_class,train_rpn_box,train_class,train_box,"
            "train_mask,val_box_ap,val_box_ap50,val_mask_ap,val_mask_ap50,images_per_second,"
            "seconds\n");
  EXPECT_TRUE(masks->better(Figures{0, 0, 0.31, 0}, four));
  EXPECT_FALSE(masks->better(Figures{1, 1, 0.29, 1}, four));
  EXPECT_FALSE(masks->better(four, four));
  const Figures nothing(4, NAN);
  EXPECT_TRUE(masks->better(nothing, nothing)) << "the later one is as good as any";
  EXPECT_EQ(masks->summary().notes.size(), 1u);
  EXPECT_TRUE(masks->summary().notes[0].starts_with("4 objects to learn from;"));

  const Files boxes = changed(objects, [](json& text) {
    for (json& object : text["annotations"]) object.erase("segmentation");
  });
  const auto plain = train::open_task(options, write("boxes", boxes), 1);
  EXPECT_EQ(plain->best_by(), "box AP");
  EXPECT_EQ(plain->columns().val[plain->best_column()].name, "val_box_ap");
  EXPECT_TRUE(plain->better(Figures{0.11, 0, 0, 0}, four));
  ASSERT_EQ(plain->summary().notes.size(), 2u);
  EXPECT_EQ(plain->summary().notes[1],
            "objects have no masks: the best network is that of the best box AP");
}

// Groups of two, two and one images: one pass for each, or all in one.
TEST_F(DenseTasks, LossesOfGroupsDoNotDependOnThePasses) {
  const std::string pairs = write("pairs", labelled_images(5, 1));
  const std::string objects = write("objects", annotated_images(5, 1));
  for (const bool detects : {false, true}) {
    std::vector<train::StepResult> results;
    std::vector<std::vector<double>> sums;
    for (const int accumulate : {0, 1}) {
      TrainOptions options = detects ? tiny_detection() : tiny_segmentation();
      options.norm_group = 2;
      options.accumulate = accumulate;
      const auto task = train::open_task(options, detects ? objects : pairs, 1);
      train::Workers workers(1);
      train::Group alone;
      train::Steps steps(*task, options, workers, alone);
      EXPECT_EQ(steps.passes(), accumulate == 0 ? 3 : 1);
      train::RunState state = new_state(task->columns());
      results.push_back(steps.run(state, [](const Batch&) {}));
      sums.push_back(state.sums);
    }
    EXPECT_NEAR(results[1].loss, results[0].loss, 1e-5 * results[0].loss) << detects;
    EXPECT_NEAR(results[1].gradient_norm / results[0].gradient_norm, 1, 1e-3) << detects;
    for (size_t i = 0; i < sums[0].size(); ++i) {
      EXPECT_NEAR(sums[1][i], sums[0][i], 1e-4 * std::max(1.0, sums[0][i])) << detects << i;
    }
  }
}

}  // namespace
}  // namespace vig::test
