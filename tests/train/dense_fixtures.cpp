#include "train/dense_fixtures.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vig/base/random.h"
#include "vig/image/encode_png.h"
#include "vig/image/image.h"
#include "vig/image/mask.h"
#include "vig/train/presets.h"

namespace vig::test {
namespace {

struct Thing {
  int label = 0;  // 1 rectangle, 2 disc
  std::vector<uint8_t> pixels;
};

struct Scene {
  Image image;
  std::vector<Thing> things;
};

// Two things that do not touch, one in each half.
Scene make_scene(uint64_t number) {
  RandomStream stream = RandomStream(7).fork(number);
  Scene scene{Image(kMadeSide, kMadeSide), {}};
  for (uint8_t& value : scene.image.rgb) value = static_cast<uint8_t>(90 + stream.below(30));
  for (int half = 0; half < 2; ++half) {
    Thing thing;
    thing.label = static_cast<int>(stream.below(2)) + 1;
    thing.pixels.assign(kMadeSide * kMadeSide, 0);
    const int radius = 8 + static_cast<int>(stream.below(5));
    const int x = 32 * half + 16 + static_cast<int>(stream.below(5)) - 2;
    const int y = 16 + static_cast<int>(stream.below(32));
    for (int j = 0; j < kMadeSide; ++j) {
      for (int i = 0; i < kMadeSide; ++i) {
        const int dx = i - x, dy = j - y;
        const bool inside = thing.label == 2 ? dx * dx + dy * dy < radius * radius
                                             : std::abs(dx) < radius && std::abs(dy) < radius - 2;
        if (!inside) continue;
        thing.pixels[static_cast<size_t>(j * kMadeSide + i)] = 1;
        uint8_t* pixel = scene.image.row(j) + 3 * i;
        pixel[0] = thing.label == 1 ? 220 : 30;
        pixel[2] = thing.label == 1 ? 20 : 210;
      }
    }
    scene.things.push_back(std::move(thing));
  }
  return scene;
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// The validation images are the first of the training images: overfitting shows.
template <class F>
void each_image(int train, int val, F f) {
  for (int i = 0; i < train; ++i) f("train", i);
  for (int i = 0; i < val; ++i) f("val", i);
}

}  // namespace

Files labelled_images(int train, int val) {
  std::vector<std::array<uint8_t, 3>> grey;
  for (int i = 0; i < 256; ++i) {
    const auto level = static_cast<uint8_t>(i);
    grey.push_back({level, level, level});
  }
  Files files;
  each_image(train, val, [&](const std::string& split, int number) {
    const Scene scene = make_scene(static_cast<uint64_t>(number));
    LabelMap labels(kMadeSide, kMadeSide, 0);
    for (const Thing& thing : scene.things) {
      for (size_t i = 0; i < thing.pixels.size(); ++i) {
        if (thing.pixels[i] != 0) labels.labels[i] = static_cast<uint8_t>(thing.label);
      }
    }
    for (int y = 0; y < kMadeSide; ++y) labels.row(y)[0] = kNoLabel;
    const std::string name = split + "/" + std::to_string(number) + ".png";
    files["images/" + name] = png_bytes(scene.image);
    files["labels/" + name] =
        text_of(encode_palette_png(labels.labels, kMadeSide, kMadeSide, grey));
  });
  files["classes.txt"] = "ground\nrectangle\ndisc\n";
  return files;
}

Files annotated_images(int train, int val) {
  Files files;
  std::map<std::string, nlohmann::json> splits;
  each_image(train, val, [&](const std::string& split, int number) {
    const Scene scene = make_scene(static_cast<uint64_t>(number));
    const std::string name = std::to_string(number) + ".png";
    files[split + "/" + name] = png_bytes(scene.image);
    nlohmann::json& json = splits[split];
    json["images"].push_back(
        {{"id", number + 1}, {"file_name", name}, {"width", kMadeSide}, {"height", kMadeSide}});
    for (const Thing& thing : scene.things) {
      const Mask mask = encode_mask(thing.pixels, kMadeSide, kMadeSide);
      const Box box = mask.bounds();
      json["annotations"].push_back(
          {{"id", json["annotations"].size() + 1},
           {"image_id", number + 1},
           {"category_id", 10 * thing.label},
           {"iscrowd", 0},
           {"area", mask.area()},
           {"bbox", {box.x1, box.y1, box.width(), box.height()}},
           {"segmentation", {{"size", {kMadeSide, kMadeSide}}, {"counts", mask.runs}}}});
    }
  });
  for (auto& [split, json] : splits) {
    json["categories"] = {{{"id", 10}, {"name", "rectangle"}}, {{"id", 20}, {"name", "disc"}}};
    files["annotations/instances_" + split + ".json"] = json.dump();
  }
  return files;
}

train::TrainOptions tiny_segmentation() {
  train::TrainOptions options = train::preset_options("segment");
  options.model = "test_vig_upernet";
  options.size = kMadeSide;
  options.batch = 8;
  options.lr = 3e-3;
  options.schedule = "steps";
  options.layer_decay = 1;
  options.warmup_epochs = 5;
  options.ema = 0;
  options.threads = 2;
  options.eval_every = 1000;
  options.view.resize_min = options.view.resize_max = 1;
  options.view.photometric = false;
  options.fields = {{"drop_path", "0"}, {"head_dropout", "0"}, {"head_channels", "48"}};
  return options;
}

train::TrainOptions tiny_detection() {
  train::TrainOptions options = train::preset_options("detect");
  options.model = "test_vig_maskrcnn";
  options.size = kMadeSide;
  options.batch = 8;
  options.norm_group = 4;
  options.lr = 4e-3;
  options.layer_decay = 1;
  options.warmup_epochs = 5;
  options.ema = 0;
  options.threads = 2;
  options.eval_every = 1000;
  options.proposal_samples = 64;
  options.box_samples = 32;
  options.fields = {{"drop_path", "0"},
                    {"anchor_scale", "4"},
                    {"training_proposals_per_level", "60"},
                    {"proposals_per_level", "60"},
                    {"proposals", "60"}};
  return options;
}

}  // namespace vig::test
