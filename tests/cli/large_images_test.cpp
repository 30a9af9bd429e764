// Images of any size: windows at their own resolution, files by regions, work that continues.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "cli/dense_commands.h"
#include "support/started_program.h"
#include "vig/image/decode.h"
#include "vig/image/encode_png.h"
#include "vig/image/region_source.h"
#include "vig/image/region_writer.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Image landscape(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave = std::sin(0.11 * x + 0.6 * c) + std::cos(0.07 * y - 0.4 * c) +
                            std::sin(0.019 * (x + 2 * y) * (1 + 0.2 * c));
        image.row(y)[x * 3 + c] = static_cast<uint8_t>(128 + 40 * wave);
      }
    }
  }
  return image;
}

class LargeImages : public DenseCommands {
 protected:
  void SetUp() override {
    DenseCommands::SetUp();
    model_ = make_model(folder_);
  }
  // A TIFF file with levels, and what it says of its pixels.
  std::string tiff(const std::string& name, const Image& image, const TiffBandFormat& format = {}) {
    std::string bytes;
    TiffBandFormat own = format;
    own.width = image.width;
    own.height = image.height;
    TiffBandWriter writer({[&](const void* data, size_t count) {
                             bytes.append(static_cast<const char*>(data), count);
                           },
                           [&](const void* data, size_t count) {
                             bytes.replace(0, count, static_cast<const char*>(data), count);
                           }},
                          own);
    writer.write_rows(image.rgb.data(), image.height);
    writer.finish();
    const fs::path path = folder_ / name;
    write_file(path, bytes);
    return path.string();
  }
  Image labels(const std::string& name) const { return read_image((out() / name).string()); }
  std::string bytes(const std::string& name) const { return read_file(out() / name); }

  std::string model_;
};

TEST_F(LargeImages, AnImageAboveTheLimitIsSegmentedByRegions) {
  const std::string file = tiff("map.tif", landscape(300, 210));
  expect_success(run("segment", segment_, {file, "--max-pixels", "10000", "--window", "64"}));
  EXPECT_EQ(written(), (std::set<std::string>{"map.labels.tif", "map.overlay.tif",
                                              "map.overlay.preview.png"}));
  const std::string by_limit = bytes("map.labels.tif"), overlay = bytes("map.overlay.tif");
  // The same by an option, on one thread, and of a format that is decoded whole.
  const RunResult result = run(
      "segment", segment_, {file, "--level", "0", "--window", "64", "--threads", "1", "--json"});
  expect_success(result);
  EXPECT_EQ(bytes("map.labels.tif"), by_limit);
  EXPECT_EQ(bytes("map.overlay.tif"), overlay);
  const json entry = json::parse(result.out)[0];
  EXPECT_EQ(entry["width"], 300);
  EXPECT_EQ(entry["height"], 210);
  int64_t pixels = 0;
  for (const json& one : entry["classes"]) pixels += one["pixels"].get<int64_t>();
  EXPECT_EQ(pixels, 300 * 210);
  // The label map has the image's pixels.
  const auto regions = open_regions(out() / "map.labels.tif");
  EXPECT_EQ(regions->levels()[0], (RegionLevel{300, 210, 1}));
}

TEST_F(LargeImages, SmallImagesAreSegmentedAsBefore) {
  expect_success(run("segment", segment_, {cat_}));
  EXPECT_TRUE(written().contains("cat_chelsea.labels.png"));
  EXPECT_FALSE(written().contains("cat_chelsea.labels.tif"));
}

TEST_F(LargeImages, ARegionIsThatPartOfTheImage) {
  const Image image = landscape(300, 210);
  Image part(120, 90);
  for (int y = 0; y < 90; ++y) std::copy_n(image.row(50 + y) + 70 * 3, 360, part.row(y));
  const std::string whole = tiff("map.tif", image), cut = tiff("cut.tif", part);
  expect_success(run("segment", segment_, {whole, "--region", "70,50,120,90", "--window", "64"}));
  expect_success(run("segment", segment_, {cut, "--level", "0", "--window", "64"}));
  EXPECT_EQ(labels("map.labels.tif"), labels("cut.labels.tif"));
  EXPECT_EQ(labels("map.overlay.tif"), labels("cut.overlay.tif"));
}

TEST_F(LargeImages, MicronsPerPixelChooseTheLevel) {
  TiffBandFormat format;
  format.microns_per_pixel = 0.25;
  const std::string file = tiff("slide.tif", landscape(1200, 800), format);
  ASSERT_GT(open_regions(file)->levels().size(), 1u);
  const RunResult result = run("segment", segment_, {file, "--mpp", "0.5", "--json"});
  expect_success(result);
  EXPECT_EQ(json::parse(result.out)[0]["width"], 600);
  const auto written_labels = open_regions(out() / "slide.labels.tif");
  ASSERT_TRUE(written_labels->microns_per_pixel());
  EXPECT_NEAR(*written_labels->microns_per_pixel(), 0.5, 1e-6);
  expect_complaint(run("segment", segment_, {tiff("bare.tif", landscape(64, 64)), "--mpp", "0.5"}),
                   2, "does not say how large its pixels are");
}

TEST_F(LargeImages, ObjectsAreLinesAndPolygons) {
  TiffBandFormat format;
  GeoTransform geo;
  geo.x0 = 500000;
  geo.x_column = 2;
  geo.y0 = 4000000;
  geo.y_row = -2;
  format.geo_transform = geo;
  const std::string file = tiff("map.tif", landscape(300, 210), format);
  const RunResult result =
      run("detect", detect_,
          {file, "--region", "20,10,250,190", "--window", "128", "--score", "0.3", "--json"});
  expect_success(result);
  EXPECT_EQ(written(), (std::set<std::string>{"map.detections.geojson", "map.detections.jsonl",
                                              "map.detections.preview.png", "map.detections.tif"}));
  const json entry = json::parse(result.out)[0];
  const int64_t objects = entry["objects"];
  ASSERT_GT(objects, 0);
  int64_t lines = 0;
  std::ifstream text(out() / "map.detections.jsonl");
  for (std::string line; std::getline(text, line); ++lines) {
    const json one = json::parse(line);
    EXPECT_GT(one["score"], 0.3);
    EXPECT_GE(one["bbox"][0], 20);
    EXPECT_LE(one["bbox"][0].get<double>() + one["bbox"][2].get<double>(), 270.001);
  }
  EXPECT_EQ(lines, objects);
  const json features = json::parse(bytes("map.detections.geojson"))["features"];
  EXPECT_EQ(static_cast<int64_t>(features.size()), objects);
  for (const json& feature : features) {
    EXPECT_TRUE(feature["properties"]["classification"].contains("name"));
    json corner = feature["geometry"]["coordinates"][0][0];
    if (feature["geometry"]["type"] == "MultiPolygon") corner = corner[0];
    EXPECT_GE(corner[0], 500040);
    EXPECT_LE(corner[0], 500540);
    EXPECT_LE(corner[1], 3999980);
    EXPECT_GE(corner[1], 3999600);
  }
  const auto drawing = open_regions(out() / "map.detections.tif");
  ASSERT_TRUE(drawing->geo_transform());
  EXPECT_DOUBLE_EQ(drawing->geo_transform()->x0, 500040);
  EXPECT_DOUBLE_EQ(drawing->geo_transform()->y0, 3999980);
}

TEST_F(LargeImages, TilesAreATableAndAHeatMap) {
  const std::string file = tiff("map.tif", landscape(300, 210));
  const std::vector<std::string> command = {"classify", "-m",    model_, file,    "--tiles",
                                            "64",       "--top", "2",    "--out", out().string()};
  expect_success(vig(command));
  EXPECT_EQ(written(), (std::set<std::string>{"map.tiles.csv", "map.tiles.png"}));
  std::istringstream table(bytes("map.tiles.csv"));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "x,y,width,height,index1,class1,probability1,index2,class2,probability2");
  int rows = 0;
  for (; std::getline(table, line); ++rows) {
    EXPECT_TRUE(rows != 1 || line.starts_with("64,0,64,64,")) << line;
  }
  EXPECT_EQ(rows, 5 * 4);
  // A tile is what it is as an image.
  const Image image = landscape(300, 210);
  Image part(64, 64);
  for (int y = 0; y < 64; ++y) std::copy_n(image.row(64 + y) + 128 * 3, 192, part.row(y));
  const std::vector<uint8_t> png = encode_png(part);
  write_file(folder_ / "tile.png", {reinterpret_cast<const char*>(png.data()), png.size()});
  const RunResult one = vig({"classify", "-m", model_, (folder_ / "tile.png").string(), "--json"});
  const json best = json::parse(one.out)[0]["classes"][0];
  std::istringstream again(bytes("map.tiles.csv"));
  bool found = false;
  while (std::getline(again, line)) {
    if (!line.starts_with("128,64,64,64,")) continue;
    found = true;
    EXPECT_TRUE(line.starts_with("128,64,64,64," + best["index"].dump() + ",")) << line;
  }
  EXPECT_TRUE(found);
}

TEST_F(LargeImages, OptionsThatDoNotFitAreRefused) {
  const std::string file = tiff("map.tif", landscape(100, 80));
  const auto refused = [&](std::vector<std::string> more, const std::string& about) {
    more.insert(more.begin(), file);
    expect_complaint(run("segment", segment_, more), 2, about);
  };
  refused({"--region", "1,2,3"}, "expected X,Y,W,H");
  refused({"--region=-1,2,3,4"}, "expected X,Y,W,H");
  refused({"--region", "0,0,101,80"}, "100x80");
  refused({"--region", "0,0,9223372036854775807,80"}, "100x80");
  refused({"--level", "3"}, "--level 3");
  refused({"--overlap", "63", "--window", "64"}, "--overlap 63");
  refused({"--level", "0", "--whole"}, "--whole");
  refused({"--level", "0", "--probabilities"}, "--probabilities");
  refused({"--mpp", "0"}, "--mpp");
  EXPECT_EQ(written(), std::set<std::string>{});
  expect_complaint(vig({"classify", "-m", model_, file, "--region", "0,0,9,9"}), 2, "--tiles");
  expect_complaint(vig({"classify", "-m", model_, file, "--tiles", "9", "--move", "x"}), 2,
                   "--move");
  write_file(folder_ / "broken.tif", "II*");
  expect_complaint(run("segment", segment_, {(folder_ / "broken.tif").string(), "--level", "0"}), 1,
                   "broken.tif");
}

class Unfinished : public LargeImages {
 protected:
  // Presses Ctrl-C once the journal holds some rows; gives its exit status.
  int interrupt(const std::vector<std::string>& arguments, const std::string& journal) {
    std::vector<std::string> program = arguments;
    program.insert(program.begin(), kVig);
    StartedProgram started(program, folder_.path());
    for (int i = 0; i < 6000; ++i) {
      std::error_code missing;
      if (fs::file_size(out() / journal, missing) > 1500 && !missing) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    started.signal(SIGINT);
    const int status = started.wait();
    err_ = started.err();
    return status;
  }
  // A run that is stopped and continued writes what one does that is not.
  void expect_same(const std::vector<std::string>& arguments, const std::string& journal,
                   const std::vector<std::string>& files) {
    expect_success(vig(arguments));
    std::vector<std::string> expected;
    for (const std::string& file : files) {
      expected.push_back(bytes(file));
      fs::remove(out() / file);
    }
    EXPECT_EQ(interrupt(arguments, journal), 128 + SIGINT) << err_;
    EXPECT_NE(err_.find("the same command continues"), std::string::npos) << err_;
    EXPECT_EQ(written(), std::set<std::string>{journal});
    const auto kept = fs::file_size(out() / journal);
    EXPECT_GT(kept, 1000u);
    expect_success(vig(arguments));
    for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(bytes(files[i]), expected[i]) << files[i];
    EXPECT_FALSE(written().contains(journal));
  }

  std::string err_;
};

TEST_F(Unfinished, SegmentationContinues) {
  const std::string file = tiff("map.tif", landscape(450, 1000));
  expect_same({"segment", "-m", segment_, "--out", out().string(), file, "--level", "0", "--window",
               "64", "--overlap", "32"},
              "map.segment.partial",
              {"map.labels.tif", "map.overlay.tif", "map.overlay.preview.png"});
}

TEST_F(Unfinished, DetectionContinues) {
  const std::string file = tiff("map.tif", landscape(300, 1000));
  expect_same({"detect", "-m", detect_, "--out", out().string(), file, "--level", "0", "--window",
               "128", "--score", "0.3"},
              "map.detect.partial",
              {"map.detections.jsonl", "map.detections.geojson", "map.detections.tif",
               "map.detections.preview.png"});
}

TEST_F(Unfinished, TilesContinue) {
  const std::string file = tiff("map.tif", landscape(700, 1500));
  expect_same({"classify", "-m", model_, "--out", out().string(), file, "--tiles", "16", "--top",
               "1", "--batch", "1"},
              "map.tiles.partial", {"map.tiles.csv", "map.tiles.png"});
}

TEST_F(Unfinished, OtherOptionsStartAgain) {
  const std::string file = tiff("map.tif", landscape(450, 1000));
  const std::vector<std::string> first = {"segment",      "-m", segment_,    "--out",
                                          out().string(), file, "--level",   "0",
                                          "--window",     "64", "--overlap", "32"};
  EXPECT_EQ(interrupt(first, "map.segment.partial"), 128 + SIGINT) << err_;
  std::vector<std::string> second = first;
  second.back() = "0";
  expect_success(vig(second));
  const std::string found = bytes("map.labels.tif");
  fs::remove_all(out());
  expect_success(vig(second));
  EXPECT_EQ(found, bytes("map.labels.tif"));
}

// What was being written when the power failed is dropped.
TEST_F(Unfinished, ADamagedEndIsDropped) {
  const std::string file = tiff("map.tif", landscape(450, 800));
  const std::vector<std::string> command = {"segment",      "-m", segment_,    "--out",
                                            out().string(), file, "--level",   "0",
                                            "--window",     "64", "--overlap", "32"};
  expect_success(vig(command));
  const std::string expected = bytes("map.labels.tif");
  EXPECT_EQ(interrupt(command, "map.segment.partial"), 128 + SIGINT) << err_;
  std::string journal = bytes("map.segment.partial");
  journal.pop_back();
  journal[journal.size() - 20] = static_cast<char>(journal[journal.size() - 20] ^ 1);
  write_file(out() / "map.segment.partial", journal + "more");
  expect_success(vig(command));
  EXPECT_EQ(bytes("map.labels.tif"), expected);
}

}  // namespace
}  // namespace vig::test
