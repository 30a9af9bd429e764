#include "vig/data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/dataset.h"
#include "vig/data/order.h"
#include "vig/data/target.h"

namespace vig::test {
namespace {

constexpr size_t kFloats = 4;

// 24 images of two classes; two are damaged.
class LoaderTest : public testing::Test {
 protected:
  LoaderTest() {
    Files files;
    for (int i = 0; i < 24; ++i) {
      files[(i % 2 == 0 ? "cat/" : "dog/") + std::to_string(100 + i) + ".png"] =
          numbered_png(static_cast<uint64_t>(i));
    }
    files["cat/106.png"].resize(60);
    files["dog/117.png"] = "no image";
    write_file(dir_ / "x.tar", tar_bytes(files));
  }
  std::shared_ptr<const Dataset> open(size_t cache_bytes = 0) const {
    return std::make_shared<const Dataset>(
        *open_dataset((dir_ / "x.tar").string(), {.cache_bytes = cache_bytes}).whole);
  }

  TempDir dir_;
};

void write_sample(const Loader::Slot& slot, const Sample& sample, float* out) {
  const Image& image = *sample.image;
  out[0] = static_cast<float>(slot.sample);
  out[1] = static_cast<float>(slot.batch * 1000 + slot.position);
  out[2] = static_cast<float>(std::accumulate(image.rgb.begin(), image.rgb.end(), 0));
  out[3] = static_cast<float>(image.width);
}

struct Seen {
  size_t index;
  std::vector<size_t> samples;
  std::vector<int> labels;
  std::vector<float> data;
  std::vector<std::string> problems;
  bool operator==(const Seen&) const = default;
};

Seen seen(const Batch& batch) {
  Seen result{batch.index, batch.samples, {}, {}, {}};
  for (const Sample& item : batch.items) result.labels.push_back(target_of<int>(item));
  result.data.assign(batch.data, batch.data + batch.samples.size() * kFloats);
  for (const Problem& problem : batch.problems) result.problems.push_back(problem.sentence);
  return result;
}

std::vector<Seen> drain(Loader& loader) {
  std::vector<Seen> batches;
  while (Batch* batch = loader.next()) {
    batches.push_back(seen(*batch));
    std::fill_n(batch->data, batch->samples.size() * kFloats, -1.0f);  // it belongs to the caller
  }
  EXPECT_EQ(loader.next(), nullptr);
  return batches;
}

TEST_F(LoaderTest, AnyNumberOfWorkersGivesTheSame) {
  const Dataset dataset = *open();
  std::optional<std::vector<Seen>> expected;
  for (const int workers : {0, 1, 3}) {
    for (const size_t ahead : {1u, 2u, 20u}) {
      Loader loader(open(workers == 1 ? 1 << 20 : 0), {.workers = workers, .ahead = ahead});
      std::vector<Seen> all;
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        loader.start(make_batches(epoch_order(24, 1, epoch), 5, LastBatch::kKeep), kFloats,
                     write_sample);
        const std::vector<Seen> batches = drain(loader);
        all.insert(all.end(), batches.begin(), batches.end());
      }
      if (!expected) expected = all;
      EXPECT_EQ(all, *expected) << workers << " workers, " << ahead << " ahead";
    }
  }
  // What it should be, from the images themselves.
  ASSERT_EQ(expected->size(), 15u);
  std::vector<std::string> problems;
  for (size_t b = 0; b < expected->size(); ++b) {
    const Seen& batch = (*expected)[b];
    const auto asked = make_batches(epoch_order(24, 1, b / 5), 5, LastBatch::kKeep)[b % 5];
    EXPECT_EQ(batch.index, b % 5);
    size_t at = 0;
    for (size_t position = 0; position < asked.size(); ++position) {
      const size_t sample = asked[position];
      const std::string name(dataset.name(sample));
      if (name == "cat/106.png" || name == "dog/117.png") continue;
      std::vector<float> floats(kFloats);
      Sample loaded = dataset.load(sample);
      write_sample({b % 5, position, sample}, loaded, floats.data());
      ASSERT_LT(at, batch.samples.size());
      EXPECT_EQ(batch.samples[at], sample);
      EXPECT_EQ(batch.labels[at], dataset.label(sample));
      EXPECT_TRUE(std::equal(floats.begin(), floats.end(), batch.data.begin() + at * kFloats));
      ++at;
    }
    EXPECT_EQ(at, batch.samples.size());
    problems.insert(problems.end(), batch.problems.begin(), batch.problems.end());
  }
  ASSERT_EQ(problems.size(), 2u);  // in three epochs
  const std::string both = problems[0] + problems[1];
  EXPECT_NE(both.find("x.tar/cat/106.png: "), std::string::npos) << both;
  EXPECT_NE(both.find("x.tar/dog/117.png: "), std::string::npos) << both;
}

TEST_F(LoaderTest, EmptyAndRepeated) {
  for (const int workers : {0, 2}) {
    Loader loader(open(), {.workers = workers});
    EXPECT_EQ(loader.next(), nullptr);
    loader.start({}, kFloats, write_sample);
    EXPECT_TRUE(drain(loader).empty());
    // Sample 3 is damaged: alone, twice, and among others.
    loader.start({{}, {3}, {}, {}, {3, 3}, {1, 3, 1, 2}, {}}, kFloats, write_sample);
    const std::vector<Seen> batches = drain(loader);
    ASSERT_EQ(batches.size(), 7u);
    EXPECT_TRUE(batches[1].samples.empty());
    EXPECT_EQ(batches[1].problems.size(), 1u);
    EXPECT_TRUE(batches[4].problems.empty());
    EXPECT_EQ(batches[5].samples, (std::vector<size_t>{1, 1, 2}));
    EXPECT_EQ(batches[5].data[4], 1.0f);
    EXPECT_EQ(batches[5].data[8], 2.0f);
    EXPECT_EQ(batches[5].data[9], 5003.0f);  // its position is the one that was asked for
  }
}

TEST_F(LoaderTest, WorksAheadAndNoFurther) {
  constexpr size_t kAhead = 3;
  std::atomic<size_t> asked = 1, furthest = 0;
  std::atomic<bool> too_far = false;
  Loader loader(open(), {.workers = 2, .ahead = kAhead});
  std::vector<std::vector<size_t>> batches(12, {0, 1});
  loader.start(batches, kFloats, [&](const Loader::Slot& slot, Sample&, float*) {
    if (slot.batch >= asked + kAhead) too_far = true;
    for (size_t old = furthest;
         old < slot.batch && !furthest.compare_exchange_weak(old, slot.batch);) {
    }
    furthest.notify_all();
  });
  // Without being asked, all that may be made is made.
  for (size_t now = furthest; now < kAhead; now = furthest) furthest.wait(now);
  while (loader.next() != nullptr) ++asked;
  EXPECT_FALSE(too_far);
  EXPECT_EQ(furthest, 11u);
}

// Blocks of the caller replace the loader's own, and never more of them are in use.
TEST_F(LoaderTest, WritesIntoMemoryOfTheCaller) {
  const auto batches = make_batches(epoch_order(24, 1, 0), 5, LastBatch::kKeep);
  for (const int workers : {0, 1, 3}) {
    Loader own(open(), {.workers = workers});
    own.start(batches, kFloats, write_sample);
    const std::vector<Seen> expected = drain(own);
    for (const size_t blocks : {1u, 2u, 3u, 9u}) {
      std::vector<std::vector<float>> memory(blocks, std::vector<float>(5 * kFloats));
      std::vector<float*> pointers;
      for (std::vector<float>& block : memory) pointers.push_back(block.data());
      Loader loader(open(), {.workers = workers});
      loader.start(batches, kFloats, write_sample, pointers);
      std::vector<Seen> batches_seen;
      while (const Batch* batch = loader.next()) {
        ASSERT_LT(batch->memory, blocks);
        EXPECT_EQ(batch->data, pointers[batch->memory]);
        batches_seen.push_back(seen(*batch));
      }
      EXPECT_EQ(batches_seen, expected) << workers << " workers, " << blocks << " blocks";
      loader.start(batches, kFloats, write_sample);  // and back to its own
      EXPECT_EQ(drain(loader).size(), batches.size());
    }
  }
}

TEST_F(LoaderTest, ExceptionsReplaceTheirBatch) {
  for (const int workers : {0, 1, 3}) {
    Loader loader(open(), {.workers = workers});
    const auto write = [](const Loader::Slot& slot, Sample&, float*) {
      // An Error of the callback is no bad image.
      if (slot.batch == 1 && slot.position > 0) fail("position {}", slot.position);
      if (slot.batch == 2) throw std::logic_error("bug");
    };
    loader.start({{0, 1}, {0, 1, 2, 4}, {0}, {1}}, kFloats, write);
    EXPECT_EQ(loader.next()->index, 0u);
    EXPECT_EQ(error_of([&] { loader.next(); }), "position 1");  // the first in order, not in time
    EXPECT_THROW(loader.next(), std::logic_error);
    Batch* last = loader.next();
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->index, 3u);
    EXPECT_EQ(last->samples, std::vector<size_t>{1});
    EXPECT_EQ(loader.next(), nullptr);
  }
}

// Boxes, say: as many as there are, moved with the image, and none for one that is left out.
class BoxedImages : public SampleSource {
 public:
  size_t size() const override { return 5; }
  std::string location(size_t sample) const override { return "image " + std::to_string(sample); }
  Sample load(size_t sample) const override {
    if (sample == 2) fail("{}: its boxes cannot be read", location(sample));
    Object object;
    object.label = 10;
    return {std::make_shared<const Image>(1, 1),
            make_target(Objects{0, std::vector<Object>(sample, object)})};
  }
};

TEST_F(LoaderTest, TargetsAreChangedAlongWithTheirImages) {
  for (const int workers : {0, 2}) {
    Loader loader(std::make_shared<const BoxedImages>(), {.workers = workers});
    loader.start({{4, 2, 3, 0}, {1}}, 1, [](const Loader::Slot& slot, Sample& sample, float* out) {
      for (Object& object : std::get<Objects>(*sample.target).objects) {
        object.label += static_cast<int>(slot.position);
      }
      *out = 0;
    });
    const auto labels = [](const Sample& sample) {
      std::vector<int> all;
      for (const Object& object : target_of<Objects>(sample).objects) all.push_back(object.label);
      return all;
    };
    const Batch* batch = loader.next();
    EXPECT_EQ(batch->samples, (std::vector<size_t>{4, 3, 0}));
    ASSERT_EQ(batch->items.size(), 3u);
    EXPECT_EQ(labels(batch->items[0]), std::vector<int>(4, 10));
    EXPECT_EQ(labels(batch->items[1]), std::vector<int>(3, 12));
    EXPECT_EQ(labels(batch->items[2]), std::vector<int>());
    ASSERT_EQ(batch->problems.size(), 1u);
    EXPECT_EQ(batch->problems[0].sentence, "image 2: its boxes cannot be read");
    EXPECT_EQ(batch->problems[0].location, "image 2");
    EXPECT_EQ(batch->problems[0].sample, 2u);  // at the second position of the batch
    EXPECT_EQ(loader.reported(), std::unordered_set<size_t>{2});
    EXPECT_EQ(labels(loader.next()->items[0]), std::vector<int>(1, 10));
  }
}

// Only where they are asked for: they take memory that later images may wait for.
TEST_F(LoaderTest, ImagesTravelWithTheirSamples) {
  for (const int workers : {0, 2}) {
    for (const bool keep : {false, true}) {
      Loader loader(open(), {.workers = workers, .keep_images = keep});
      loader.start({{6, 3, 4}}, kFloats, write_sample);  // the second is damaged
      const Batch* batch = loader.next();
      ASSERT_EQ(batch->samples, (std::vector<size_t>{6, 4}));
      for (size_t i = 0; i < 2; ++i) {
        const auto& image = batch->items[i].image;
        ASSERT_EQ(image != nullptr, keep);
        if (!keep) continue;
        EXPECT_EQ(*image, *loader.source().load(batch->samples[i]).image);
      }
    }
  }
}

TEST_F(LoaderTest, MayBeDroppedOrRestartedAtAnyPoint) {
  const auto batches = make_batches(epoch_order(24, 1, 0), 2, LastBatch::kKeep);
  for (const int workers : {0, 1, 4}) {
    Loader restarted(open(), {.workers = workers});
    for (size_t taken = 0; taken <= batches.size(); ++taken) {
      Loader loader(open(), {.workers = workers, .ahead = 4});
      loader.start(batches, kFloats, write_sample);
      restarted.start(batches, kFloats, write_sample);
      for (size_t i = 0; i < taken; ++i) {
        ASSERT_EQ(loader.next()->index, i);
        ASSERT_EQ(restarted.next()->index, i);
      }
    }
    // With more memory than before, and other numbers.
    restarted.start({{5, 6, 7, 8}}, 4 * kFloats, [](const Loader::Slot& slot, Sample&, float* out) {
      std::fill_n(out, 4 * kFloats, static_cast<float>(slot.sample));
    });
    const Batch* batch = restarted.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->data[4 * kFloats * 4 - 1], 8.0f);
  }
}

TEST_F(LoaderTest, NonsenseIsRefused) {
  expect_error(ErrorCode::kUsage, {"-1 workers"}, [&] { Loader(open(), {.workers = -1}); });
  expect_error(ErrorCode::kUsage, {"ahead"}, [&] { Loader(open(), {.ahead = 0}); });
  Loader loader(open(), {});
  expect_error(ErrorCode::kUsage, {"sample 24 of 24"}, [&] {
    loader.start({{0, 24}}, kFloats, write_sample);
  });
  expect_error(ErrorCode::kUsage, {"any memory"}, [&] {
    loader.start({{0, 1}}, SIZE_MAX / 4, write_sample);
  });
  EXPECT_EQ(loader.next(), nullptr);
}

}  // namespace
}  // namespace vig::test
