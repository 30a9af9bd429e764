#include "house/example_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "support/files.h"
#include "support/run_program.h"
#include "vig/image/encode_png.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSide = 64;

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// A bright rectangle on dark ground, at another position for every number.
struct Scene {
  explicit Scene(int number) : x(4 + 5 * number), y(30 - 4 * number), image(kSide, kSide) {
    std::vector<uint8_t> classes(kSide * kSide);
    for (int j = 0; j < kSide; ++j) {
      for (int i = 0; i < kSide; ++i) {
        const bool inside = i >= x && i < x + kWidth && j >= y && j < y + kHeight;
        uint8_t* pixel = image.row(j) + 3 * i;
        for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(inside ? 220 : 20 + i % 7);
        classes[static_cast<size_t>(j * kSide + i)] = inside ? 1 : 0;
      }
    }
    labels = text_of(encode_palette_png(classes, kSide, kSide, {{{0, 0, 0}, {1, 1, 1}}}));
  }
  std::string png() const { return text_of(encode_png(image)); }
  json polygon() const {
    const int right = x + kWidth, bottom = y + kHeight;
    return json::array({json::array({x, y, right, y, right, bottom, x, bottom})});
  }

  static constexpr int kWidth = 24, kHeight = 20;
  int x, y;
  Image image;
  std::string labels;
};

void write_camvid(const fs::path& folder) {
  std::string list;
  for (int i = 0; i < 4; ++i) {
    const Scene scene(i);
    const std::string name = std::to_string(i) + ".png";
    write_file(folder / "images" / name, scene.png());
    write_file(folder / "labels" / name, scene.labels);
    list += "images/" + name + " labels/" + name + "\n";
  }
  write_file(folder / "train.txt", list);
  write_file(folder / "classes.txt",
             "Sky\nBuilding\nPole\nRoad\nPavement\nTree\nSignSymbol\nFence\nCar\nPedestrian\n"
             "Bicyclist\n");
}

void write_coco(const fs::path& folder, const std::string& split) {
  json file;
  file["categories"] = json::array({{{"id", 1}, {"name", "nucleus"}}});
  for (int i = 0; i < 4; ++i) {
    const Scene scene(i);
    const std::string name = std::to_string(i + 1) + ".png";
    write_file(folder / split / name, scene.png());
    file["images"].push_back(
        {{"id", i + 1}, {"file_name", name}, {"width", kSide}, {"height", kSide}});
    file["annotations"].push_back({{"id", i + 1},
                                   {"image_id", i + 1},
                                   {"category_id", 1},
                                   {"iscrowd", 0},
                                   {"area", Scene::kWidth * Scene::kHeight},
                                   {"bbox", {scene.x, scene.y, Scene::kWidth, Scene::kHeight}},
                                   {"segmentation", scene.polygon()}});
  }
  write_file(folder / "annotations" / ("instances_" + split + ".json"), file.dump());
}

void run(const fs::path& folder, const std::string& script) {
  const RunResult result =
      run_program({"bash", "-euo", "pipefail", "-c", script}, {.directory = folder});
  EXPECT_EQ(result.exit_code, 0) << script << result.err;
}

}  // namespace

void write_example_data(const fs::path& folder) {
  write_camvid(folder / "camvid");
  write_coco(folder / "nuclei", "train");
  for (const char* split : {"train", "val"}) write_coco(folder / "coco", split);
  run(folder, R"(
mkdir -p photos/cat photos/flower holiday flowers/rose flowers/tulip
for i in 1 2 3 4; do
  cp tests/fixtures/image/photos/cat_chelsea.png photos/cat/$i.png
  cp tests/fixtures/image/photos/flower.webp photos/flower/$i.webp
  cp tests/fixtures/image/photos/flower.webp flowers/rose/$i.webp
  cp tests/fixtures/image/photos/dice_lossy_alpha.webp flowers/tulip/$i.webp
done
mkdir split
cp -r flowers split/val
tar -czf flowers.tar.gz -C split val
rm -r split
cp examples/cat.jpg examples/macaws.jpg holiday
cp examples/cat.jpg photo.jpg
cp examples/cat.jpg examples/street.jpg .
cp examples/nuclei.png slide.png
cp models/segment.safetensors scenes.safetensors
cp models/detect.safetensors objects.safetensors
printf '%s\n' rose tulip 3 4 5 6 7 8 9 10 >classes.txt
./vig convert tests/fixtures/golden/vig-mini-silu.pth flowers.safetensors --arch test_vig --classes classes.txt
rm classes.txt
)");
}

}  // namespace vig::test
