// The interface for C: the functions themselves, linked statically, and the shared library as
// other programs load it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "vig/data/image_files.h"
#include "vig/pipeline/open_model.h"
#include "vig/pipeline/save_model.h"
#include "vig/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const fs::path kData(kFixtures);

std::string saved(const fs::path& path, const std::string& arch,
                  std::vector<std::string> classes = {}) {
  ModelRequest request;
  request.model = arch;
  ModelSource source = find_source(request);
  source.classes = std::move(classes);
  save_model(source, path.string());
  return path.string();
}

struct Close {
  void operator()(vig_model* model) const { vig_close(model); }
  void operator()(vig_result* result) const { vig_free_result(result); }
};
using Model = std::unique_ptr<vig_model, Close>;
using Result = std::unique_ptr<vig_result, Close>;

Model opened(const std::string& path, const vig_options* options = nullptr) {
  vig_model* model = nullptr;
  EXPECT_EQ(vig_open(path.c_str(), options, &model), VIG_OK) << vig_last_error();
  return Model(model);
}

class CInterface : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = saved(folder_ / "model.safetensors", "test_vig", names_);
    for (const char* name : {"cat_chelsea.png", "flower.webp", "kitten_gray.jpg"}) {
      files_.push_back(read_file(kData / "image/photos" / name));
      images_.push_back(vig_encoded(files_.back().data(), files_.back().size()));
    }
  }
  // The images of the caller for the pipeline.
  ImageBytes source(const DecodeOptions& decode = {}) const {
    std::vector<ImageBytes::File> files;
    for (const std::string& file : files_) {
      files.push_back({"image", {reinterpret_cast<const uint8_t*>(file.data()), file.size()}});
    }
    return ImageBytes(std::move(files), decode);
  }
  OpenModel pipeline(const std::string& path) const {
    ModelRequest request;
    request.model = path;
    return OpenModel(find_source(request));
  }
  // Evidence and attention are maps of one channel.
  void expect_map(const vig_result* result, size_t i, const TokenMap& expected) {
    int rows = 0, columns = 0, channels = 0;
    const float* const values = vig_result_values(result, i, &rows, &columns, &channels);
    EXPECT_EQ((std::vector{rows, columns, channels}),
              (std::vector{expected.height, expected.width, 1}));
    EXPECT_TRUE(std::equal(expected.values.begin(), expected.values.end(), values));
  }
  void expect_scores(const vig_result* result, const std::vector<ClassifiedImage>& expected) {
    ASSERT_EQ(vig_result_count(result), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(vig_result_error(result, i), nullptr);
      size_t count = 0;
      const vig_class_score* const scores = vig_result_scores(result, i, &count);
      const auto& own = expected[i].prediction.scores;
      ASSERT_EQ(count, own.size());
      for (size_t k = 0; k < count; ++k) {
        EXPECT_EQ(scores[k].label, own[k].index);
        EXPECT_STREQ(scores[k].name, own[k].name.c_str());
        EXPECT_EQ(scores[k].probability, own[k].probability);
        EXPECT_EQ(scores[k].logit, own[k].logit);
      }
    }
  }

  TempDir folder_;
  const std::vector<std::string> names_ = {"ant", "bee", "cat", "dog",  "eel",
                                           "fox", "gnu", "hen", "ibis", "jay"};
  std::string path_;
  std::vector<std::string> files_;
  std::vector<vig_image> images_;
};

TEST_F(CInterface, ResultsAreTheBitsOfThePipeline) {
  const Model model = opened(path_);
  EXPECT_EQ(vig_model_task(model.get()), VIG_CLASSIFY);
  EXPECT_STREQ(vig_model_arch(model.get()), "test_vig");
  EXPECT_EQ(vig_class_count(model.get()), 10u);
  EXPECT_STREQ(vig_class_name(model.get(), 3), "dog");
  EXPECT_EQ(vig_class_name(model.get(), 10), nullptr);

  const OpenModel own = pipeline(path_);
  vig_result* owned = nullptr;
  ASSERT_EQ(vig_classify(model.get(), images_.data(), 3, 4, &owned), VIG_OK);
  Result result(owned);
  expect_scores(result.get(), own.classify(source(), 4));

  for (const int map : {0, 1}) {
    ASSERT_EQ(vig_embed(model.get(), images_.data(), 3, map, &owned), VIG_OK);
    result.reset(owned);
    const auto kind = map ? Embedder::Kind::kMap : Embedder::Kind::kPooled;
    const auto expected = own.embed(source(), kind);
    for (size_t i = 0; i < 3; ++i) {
      int rows = 0, columns = 0, channels = 0;
      const float* const values = vig_result_values(result.get(), i, &rows, &columns, &channels);
      const Embedding& one = expected[i].prediction;
      EXPECT_EQ((std::vector{rows, columns, channels}),
                (std::vector{one.height, one.width, one.channels}));
      EXPECT_TRUE(std::equal(one.values.begin(), one.values.end(), values));
    }
  }

  ASSERT_EQ(vig_evidence(model.get(), images_.data(), 3, 2, 3, &owned), VIG_OK);
  result.reset(owned);
  const auto evidence = own.evidence(source(), {2, 3});
  size_t count = 0;
  EXPECT_EQ(vig_result_scores(result.get(), 1, &count)[1].label, 3);
  EXPECT_EQ(count, 2u);
  expect_map(result.get(), 1, evidence[1].prediction.map);

  ASSERT_EQ(vig_attention(model.get(), images_.data(), 3, 0.2, 0.7, 0, 1, &owned), VIG_OK);
  result.reset(owned);
  const auto attention = own.attention(source(), {0.2, 0.7, 0, 1});
  expect_map(result.get(), 2, attention[2].prediction.map);
}

TEST_F(CInterface, OrientationIsAnOption) {
  files_ = {read_file(kData / "image/photos/hopper_orient6.webp")};
  const vig_image turned = vig_encoded(files_[0].data(), files_[0].size());
  const OpenModel own = pipeline(path_);
  const auto upright = own.classify(source(), 10);
  const auto stored = own.classify(source({.apply_orientation = false}), 10);
  EXPECT_NE(upright[0].prediction.scores, stored[0].prediction.scores);
  for (const int ignore : {0, 1}) {
    vig_options options;
    vig_default_options(&options);
    options.ignore_orientation = ignore;
    const Model model = opened(path_, &options);
    vig_result* owned = nullptr;
    ASSERT_EQ(vig_classify(model.get(), &turned, 1, 10, &owned), VIG_OK);
    const Result result(owned);
    expect_scores(result.get(), ignore ? stored : upright);
  }
}

// As files and as pixels, with and without a gap between the rows.
TEST_F(CInterface, PixelsAreTheImage) {
  const std::shared_ptr<const Image> image = source().load(0).image;
  const size_t row = 3 * static_cast<size_t>(image->width), stride = row + 7;
  std::vector<uint8_t> wide(stride * static_cast<size_t>(image->height) - 7);  // no gap at the end
  for (int y = 0; y < image->height; ++y) {
    std::copy_n(image->row(y), row, wide.data() + static_cast<size_t>(y) * stride);
  }
  vig_image given[3] = {images_[0], vig_pixels(image->row(0), image->width, image->height, 0),
                        vig_pixels(wide.data(), image->width, image->height, stride)};
  given[2].size = wide.size();
  const Model model = opened(path_);
  vig_result* owned = nullptr;
  ASSERT_EQ(vig_classify(model.get(), given, 3, 10, &owned), VIG_OK);
  const Result result(owned);
  size_t count = 0;
  const vig_class_score* const first = vig_result_scores(result.get(), 0, &count);
  ASSERT_EQ(count, 10u);
  for (size_t i = 1; i < 3; ++i) {
    ASSERT_EQ(vig_result_error(result.get(), i), nullptr) << vig_result_error(result.get(), i);
    const vig_class_score* const other = vig_result_scores(result.get(), i, nullptr);
    for (size_t k = 0; k < count; ++k) EXPECT_EQ(first[k].logit, other[k].logit);
  }
}

TEST_F(CInterface, BrokenImagesDoNotHinderOthers) {
  const Model model = opened(path_);
  uint8_t pixels[12] = {};
  std::vector<vig_image> given = {
      vig_encoded("no image", 10), vig_encoded(files_[0].data(), files_[0].size() / 2),
      vig_encoded(nullptr, 100),   vig_encoded(pixels, 0),
      vig_pixels(pixels, 2, 2, 5), vig_pixels(pixels, -2, 2, 0),
      vig_pixels(pixels, 2, 0, 0), vig_pixels(pixels, 2, 2, 0)};
  given.back().size = 11;
  vig_image far = vig_pixels(pixels, 2, std::numeric_limits<int>::max(), 0);
  far.stride = std::numeric_limits<size_t>::max() / 2;  // products with it overflow
  far.size = sizeof pixels;
  given.push_back(far);
  given.push_back(images_[1]);
  vig_result* owned = nullptr;
  ASSERT_EQ(vig_classify(model.get(), given.data(), given.size(), 1, &owned), VIG_OK);
  const Result result(owned);
  ASSERT_EQ(vig_result_count(result.get()), given.size());
  for (size_t i = 0; i + 1 < given.size(); ++i) {
    const char* const error = vig_result_error(result.get(), i);
    ASSERT_NE(error, nullptr) << i;
    EXPECT_EQ(std::string(error).find("image " + std::to_string(i) + ":"), 0u) << error;
    size_t count = 7;
    EXPECT_EQ(vig_result_scores(result.get(), i, &count), nullptr);
    EXPECT_EQ(count, 0u);
  }
  EXPECT_EQ(vig_result_error(result.get(), given.size() - 1), nullptr);
  EXPECT_NE(vig_result_scores(result.get(), given.size() - 1, nullptr), nullptr);
}

TEST_F(CInterface, NothingAtAnAddressIsAnError) {
  vig_model* none = reinterpret_cast<vig_model*>(1);
  EXPECT_EQ(vig_open(nullptr, nullptr, &none), VIG_BAD_USAGE);
  EXPECT_EQ(vig_open(path_.c_str(), nullptr, nullptr), VIG_BAD_USAGE);
  EXPECT_EQ(vig_open("nothing.safetensors", nullptr, &none), VIG_BAD_INPUT);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::string(vig_last_error()).find("nothing.safetensors"), std::string::npos);
  EXPECT_EQ(vig_open("test_vig", nullptr, &none), VIG_BAD_USAGE) << "a name has no weights";
  EXPECT_EQ(vig_open_memory(nullptr, 4, "x", nullptr, &none), VIG_BAD_USAGE);
  EXPECT_EQ(vig_open_memory("abc", 3, nullptr, nullptr, &none), VIG_BAD_INPUT);
  vig_close(nullptr);
  vig_free_result(nullptr);
  vig_default_options(nullptr);
  EXPECT_EQ(vig_model_task(nullptr), VIG_CLASSIFY);
  EXPECT_EQ(vig_model_arch(nullptr), nullptr);
  EXPECT_EQ(vig_class_count(nullptr), 0u);
  EXPECT_EQ(vig_class_name(nullptr, 0), nullptr);
  EXPECT_EQ(vig_result_count(nullptr), 0u);
  EXPECT_EQ(vig_result_error(nullptr, 0), nullptr);
  EXPECT_EQ(vig_result_scores(nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(vig_result_values(nullptr, 0, nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(vig_result_labels(nullptr, 0, nullptr, nullptr), nullptr);
  EXPECT_EQ(vig_result_detections(nullptr, 0, nullptr), nullptr);

  const Model model = opened(path_);
  vig_result* result = nullptr;
  EXPECT_EQ(vig_classify(nullptr, images_.data(), 1, 1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_classify(model.get(), nullptr, 1, 1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_classify(model.get(), images_.data(), 1, 1, nullptr), VIG_BAD_USAGE);
  EXPECT_EQ(vig_classify(model.get(), images_.data(), 1, 0, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_embed(nullptr, nullptr, 0, 0, nullptr), VIG_BAD_USAGE);
  EXPECT_EQ(vig_evidence(model.get(), images_.data(), 1, 10, -1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_attention(model.get(), images_.data(), 1, 2, 0, -1, -1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_attention(model.get(), images_.data(), 1, 0, 0, 9, -1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_segment(model.get(), images_.data(), 1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(vig_detect(model.get(), images_.data(), 1, &result), VIG_BAD_USAGE);
  EXPECT_EQ(result, nullptr);
  // No images are no error.
  ASSERT_EQ(vig_classify(model.get(), nullptr, 0, 1, &result), VIG_OK) << vig_last_error();
  EXPECT_EQ(vig_result_count(result), 0u);
  vig_free_result(result);
}

// Freeing what a failed call has left does nothing.
TEST_F(CInterface, FailedCallsGiveNothing) {
  auto* model = reinterpret_cast<vig_model*>(1);
  EXPECT_EQ(vig_open_memory("abc", 3, "held", nullptr, &model), VIG_BAD_INPUT);
  EXPECT_EQ(model, nullptr);
  const std::string sentence = vig_last_error();
  EXPECT_NE(sentence.find("held"), std::string::npos) << sentence;
  EXPECT_EQ(vig_open_memory("abc", 3, nullptr, nullptr, &model), VIG_BAD_INPUT);
  EXPECT_NE(std::string(vig_last_error()).find("the model"), std::string::npos) << vig_last_error();

  const Model own = opened(path_);
  auto* result = reinterpret_cast<vig_result*>(1);
  EXPECT_EQ(vig_classify(own.get(), images_.data(), 1, 0, &result), VIG_BAD_USAGE);
  EXPECT_EQ(result, nullptr);
  const std::string refused = vig_last_error();
  EXPECT_EQ(refused, "the best 0 classes, expected at least 1");
  // The sentence stays when later calls succeed, and is of this thread alone.
  ASSERT_EQ(vig_classify(own.get(), images_.data(), 1, 1, &result), VIG_OK);
  vig_free_result(result);
  EXPECT_EQ(vig_last_error(), refused);
  std::thread([] { EXPECT_STREQ(vig_last_error(), ""); }).join();
}

TEST_F(CInterface, ImagesThatWereNotGivenHaveNoResult) {
  const Model model = opened(path_);
  vig_result* owned = nullptr;
  ASSERT_EQ(vig_evidence(model.get(), images_.data(), 3, -1, -1, &owned), VIG_OK);
  const Result result(owned);
  const auto best = pipeline(path_).classify(source(), 1);
  for (size_t i = 0; i < 3; ++i) {
    size_t count = 0;
    const vig_class_score* const score = vig_result_scores(result.get(), i, &count);
    ASSERT_EQ(count, 1u) << "without another class";
    EXPECT_EQ(score->label, best[i].prediction.scores[0].index);
    EXPECT_STREQ(score->name, best[i].prediction.scores[0].name.c_str());
  }
  // A classifier has neither labels nor objects.
  size_t count = 7;
  int width = 7, height = 7, rows = 7, columns = 7, channels = 7;
  EXPECT_EQ(vig_result_labels(result.get(), 0, &width, &height), nullptr);
  EXPECT_EQ(vig_result_detections(result.get(), 0, &count), nullptr);
  EXPECT_EQ((std::vector{width, height, static_cast<int>(count)}), (std::vector{0, 0, 0}));
  for (const size_t none : {size_t{3}, size_t{1} << 40}) {
    count = 7, width = height = rows = columns = channels = 7;
    EXPECT_EQ(vig_result_error(result.get(), none), nullptr);
    EXPECT_EQ(vig_result_scores(result.get(), none, &count), nullptr);
    EXPECT_EQ(vig_result_values(result.get(), none, &rows, &columns, &channels), nullptr);
    EXPECT_EQ(vig_result_labels(result.get(), none, &width, &height), nullptr);
    EXPECT_EQ((std::vector{static_cast<int>(count), rows, columns, channels, width, height}),
              std::vector<int>(6, 0));
    count = 7;
    EXPECT_EQ(vig_result_detections(result.get(), none, &count), nullptr);
    EXPECT_EQ(count, 0u);
  }
}

TEST_F(CInterface, OptionsOfOlderHeadersAndBadOnes) {
  vig_options options;
  vig_default_options(&options);
  options.size = 96;
  options.threads = 1;
  vig_result* owned = nullptr;
  const Model larger = opened(path_, &options);
  ASSERT_EQ(vig_embed(larger.get(), images_.data(), 1, 1, &owned), VIG_OK);
  Result result(owned);
  int rows = 0;
  vig_result_values(result.get(), 0, &rows, nullptr, nullptr);
  EXPECT_EQ(rows, 6);  // of tokens of 16 pixels

  // A header that ended with `threads`: what follows has its default.
  options.struct_size = offsetof(vig_options, batch);
  const Model plain = opened(path_, &options);
  ASSERT_EQ(vig_embed(plain.get(), images_.data(), 1, 1, &owned), VIG_OK);
  result.reset(owned);
  vig_result_values(result.get(), 0, &rows, nullptr, nullptr);
  EXPECT_EQ(rows, 4);

  const auto refused = [&](auto change) {
    vig_options bad;
    vig_default_options(&bad);
    change(bad);
    vig_model* model = nullptr;
    EXPECT_EQ(vig_open(path_.c_str(), &bad, &model), VIG_BAD_USAGE) << vig_last_error();
    EXPECT_EQ(model, nullptr);
  };
  refused([](vig_options& bad) { bad.struct_size = 0; });
  refused([](vig_options& bad) { bad.threads = -1; });
  refused([](vig_options& bad) { bad.threads = 1025; });
  refused([](vig_options& bad) { bad.batch = -1; });
  refused([](vig_options& bad) { bad.batch = 4097; });
  refused([](vig_options& bad) { bad.size = -1; });
  refused([](vig_options& bad) { bad.size = kMaxInputSide + 1; });
  refused([](vig_options& bad) { bad.max_pixels = 0; });
  refused([](vig_options& bad) { bad.arch = "no_such_model"; });

  vig_options strict;
  vig_default_options(&strict);
  strict.max_pixels = 100;
  const Model small = opened(path_, &strict);
  const std::vector<uint8_t> pixels(3 * 11 * 10);
  const vig_image given[3] = {images_[0], vig_pixels(pixels.data(), 11, 10, 0),
                              vig_pixels(pixels.data(), 10, 10, 0)};
  ASSERT_EQ(vig_classify(small.get(), given, 3, 1, &owned), VIG_OK);
  result.reset(owned);
  EXPECT_NE(vig_result_error(result.get(), 0), nullptr);
  EXPECT_NE(vig_result_error(result.get(), 1), nullptr);
  EXPECT_EQ(vig_result_error(result.get(), 2), nullptr);
}

// A program that was compiled when the struct had fewer fields.
TEST(CInterfaceOptions, AreWrittenNoFurtherThanTheCallersStruct) {
  vig_options options;
  std::memset(&options, 0x55, sizeof options);
  const size_t older = offsetof(vig_options, arch);
  vig_init_options(&options, older);
  EXPECT_EQ(options.struct_size, older);
  EXPECT_EQ((std::vector{options.threads, options.batch, options.size, options.ignore_orientation}),
            std::vector<int>(4, 0));
  EXPECT_EQ(options.max_pixels, DecodeOptions().max_pixels);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&options);
  EXPECT_TRUE(std::all_of(bytes + older, bytes + sizeof options,
                          [](unsigned char byte) { return byte == 0x55; }));
  vig_init_options(&options, 10000);
  EXPECT_EQ(options.struct_size, sizeof options);
}

TEST_F(CInterface, AModelInMemoryAndResultsThatOutliveIt) {
  const std::string bytes = read_file(path_);
  vig_model* model = nullptr;
  ASSERT_EQ(vig_open_memory(bytes.data(), bytes.size(), "held", nullptr, &model), VIG_OK)
      << vig_last_error();
  vig_result* owned = nullptr;
  ASSERT_EQ(vig_classify(model, images_.data(), 3, 2, &owned), VIG_OK);
  vig_close(model);
  const Result result(owned);
  expect_scores(result.get(), pipeline(path_).classify(source(), 2));

  vig_options larger;
  vig_default_options(&larger);
  larger.size = 96;
  ASSERT_EQ(vig_open_memory(bytes.data(), bytes.size(), "held", &larger, &model), VIG_OK);
  const Model held(model);
  ASSERT_EQ(vig_embed(held.get(), images_.data(), 1, 1, &owned), VIG_OK);
  const Result map(owned);
  int rows = 0, columns = 0;
  vig_result_values(map.get(), 0, &rows, &columns, nullptr);
  EXPECT_EQ((std::vector{rows, columns}), (std::vector{6, 6}));
}

TEST_F(CInterface, AnyNumberOfThreadsWithErrorsOfTheirOwn) {
  const Model model = opened(path_);
  const auto expected = pipeline(path_).classify(source(), 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        vig_result* owned = nullptr;
        ASSERT_EQ(vig_classify(model.get(), images_.data(), 3, 3, &owned), VIG_OK);
        expect_scores(owned, expected);
        vig_free_result(owned);
        EXPECT_EQ(vig_evidence(model.get(), nullptr, 0, 100 + t, -1, &owned), VIG_BAD_USAGE);
        EXPECT_NE(std::string(vig_last_error()).find("class " + std::to_string(100 + t)),
                  std::string::npos)
            << vig_last_error();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CInterface, ModelsThatComeWithVigHaveNames) {
  EXPECT_EQ(vig_model_task(opened("").get()), VIG_CLASSIFY);
  EXPECT_STREQ(vig_class_name(opened("default").get(), 3), "cat");
  EXPECT_EQ(vig_model_task(opened("segment").get()), VIG_SEGMENT);
  EXPECT_EQ(vig_model_task(opened("detect").get()), VIG_DETECT);
}

TEST_F(CInterface, SegmentationAndDetection) {
  const std::string map_path = saved(folder_ / "map.safetensors", "test_vig_upernet");
  const Model segmenter = opened(map_path);
  EXPECT_EQ(vig_model_task(segmenter.get()), VIG_SEGMENT);
  EXPECT_EQ(vig_class_name(segmenter.get(), 0), nullptr);
  vig_result* owned = nullptr;
  const vig_image broken = vig_encoded("x", 1);
  const vig_image given[2] = {images_[0], broken};
  ASSERT_EQ(vig_segment(segmenter.get(), given, 2, &owned), VIG_OK) << vig_last_error();
  Result result(owned);
  int width = 0, height = 0;
  const uint8_t* const labels = vig_result_labels(result.get(), 0, &width, &height);
  const LabelMap map = pipeline(map_path).segment(source())[0].prediction.labels;
  ASSERT_EQ(width, map.width);
  ASSERT_EQ(height, map.height);
  EXPECT_TRUE(std::equal(map.labels.begin(), map.labels.end(), labels));
  EXPECT_NE(vig_result_error(result.get(), 1), nullptr);
  const auto warnings = pipeline(map_path).segment(source())[0].warnings;
  ASSERT_EQ(warnings.size(), 1u);  // shrunk
  EXPECT_EQ(vig_result_warning(result.get(), 0, 0), warnings[0].message);
  EXPECT_EQ(vig_result_warning(result.get(), 0, 1), nullptr);
  EXPECT_EQ(vig_result_warning(result.get(), 1, 0), nullptr) << "it has no prediction";
  EXPECT_EQ(vig_result_warning(result.get(), 2, 0), nullptr);
  EXPECT_EQ(vig_result_warning(nullptr, 0, 0), nullptr);
  EXPECT_EQ(vig_classify(segmenter.get(), given, 2, 1, &owned), VIG_BAD_USAGE);

  const std::vector<std::string> classes = {"ant", "bee", "cat"};
  const std::string box_path = saved(folder_ / "box.safetensors", "test_vig_maskrcnn", classes);
  const Model detector = opened(box_path);
  ASSERT_EQ(vig_detect(detector.get(), given, 2, &owned), VIG_OK) << vig_last_error();
  result.reset(owned);
  size_t count = 0;
  const vig_detection* const found = vig_result_detections(result.get(), 0, &count);
  const Detections expected = pipeline(box_path).detect(source())[0].prediction;
  ASSERT_EQ(count, expected.size());
  ASSERT_GT(count, 0u);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ((Box{found[i].x1, found[i].y1, found[i].x2, found[i].y2}), expected[i].box);
    EXPECT_STREQ(found[i].name, classes.at(static_cast<size_t>(expected[i].label)).c_str());
    EXPECT_EQ(found[i].score, expected[i].score);
    EXPECT_EQ(found[i].label, expected[i].label);
    EXPECT_EQ(std::vector(found[i].runs, found[i].runs + found[i].run_count),
              expected[i].mask.runs);
  }
}

std::set<std::string> declared_functions() {
  const std::string header = read_file(fs::path(kSourceDir) / "include/vig/vig.h");
  const std::regex pattern("VIG_API[^(;]*\\b(vig_[a-z_]+)\\(");
  std::set<std::string> names;
  for (std::sregex_iterator match(header.begin(), header.end(), pattern), end; match != end;
       ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

TEST(SharedLibrary, ShowsTheFunctionsOfItsHeaderAndNothingElse) {
  const RunResult symbols = run_program({"nm", "-D", "--defined-only", kSharedLibrary});
  ASSERT_EQ(symbols.exit_code, 0) << symbols.err;
  std::set<std::string> shown;
  std::istringstream lines(symbols.out);
  for (std::string address, kind, name; lines >> address >> kind >> name;) {
    if (kind != "A") shown.insert(name.substr(0, name.find('@')));  // A: the version's own name
  }
  EXPECT_EQ(shown, declared_functions());
  EXPECT_GE(shown.size(), 20u);
  const std::string dynamic = run_program({"readelf", "-d", kSharedLibrary}).out;
  EXPECT_NE(dynamic.find("soname: [libvig.so.0]"), std::string::npos) << dynamic;
}

TEST(SharedLibrary, SaysItsVersionWhenItRuns) {
  void* const library = dlopen(kSharedLibrary, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto abi = reinterpret_cast<int (*)()>(dlsym(library, "vig_abi_version"));
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(library, "vig_version"));
  ASSERT_NE(abi, nullptr);
  EXPECT_EQ(abi(), VIG_ABI_VERSION);
  EXPECT_STREQ(version(), vig_version());
  EXPECT_EQ(vig_abi_version(), VIG_ABI_VERSION);
}

TEST(Header, IsPlainCAndCpp) {
  const TempDir folder;
  const std::string include = "-I" + (fs::path(kSourceDir) / "include").string();
  write_file(folder / "a.c", "#include <vig/vig.h>\nint main(void) { return 0; }\n");
  for (const std::vector<std::string>& compiler :
       {std::vector<std::string>{"cc", "-xc", "-std=c99"},
        {"cc", "-xc", "-std=c17"},
        {"c++", "-xc++", "-std=c++11"}}) {
    std::vector<std::string> command = compiler;
    command.insert(command.end(), {"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                                   include, (folder / "a.c").string()});
    const RunResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

}  // namespace
}  // namespace vig::test
