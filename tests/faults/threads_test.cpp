// The system starts no more threads: work continues with fewer, to the same bits.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "faults/fixture.h"
#include "faults/inject.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "vig/base/error.h"
#include "vig/base/thread_pool.h"
#include "vig/bench/bench.h"
#include "vig/data/dataset.h"
#include "vig/data/loader.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/save_model.h"

namespace vig::test {
namespace {

std::atomic<int64_t> g_first_failure{0};

bool thread_fails(Call call, int64_t number) {
  return call == Call::kThread && number >= g_first_failure;
}

// While one exists, only `most` threads can be started.
class ThreadLimit {
 public:
  explicit ThreadLimit(int64_t most) {
    g_first_failure = most + 1;
    inject(thread_fails);
  }
  ~ThreadLimit() { inject(nullptr); }
};

class Threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_inject()) GTEST_SKIP() << "not in builds with sanitisers";
  }
};

TEST_F(Threads, APoolIsAsLargeAsTheSystemAllows) {
  for (int started = 0; started <= 4; ++started) {
    SCOPED_TRACE(started);
    const ThreadLimit limit(started);
    ThreadPool pool(5);
    EXPECT_EQ(pool.size(), started + 1);
    std::vector<int> rounds(5, 0);
    for (int round = 0; round < 3; ++round) {
      pool.run([&](int worker) {
        ++rounds[static_cast<size_t>(worker)];
        pool.barrier();  // all of them arrive
      });
    }
    for (int worker = 0; worker < 5; ++worker) {
      EXPECT_EQ(rounds[static_cast<size_t>(worker)], worker <= started ? 3 : 0) << worker;
    }
  }
}

class ThreadsOfAModel : public Threads {
 protected:
  ModelSource source() const {
    ModelRequest request;
    request.model = data("golden/vig-mini-silu.pth");
    request.arch = "test_vig";
    return find_source(request);
  }

  static std::vector<ClassScore> scores(const Classifier& classifier, int size = 0) {
    const ImageFiles image({data("image/photos/kitten_gray.jpg")});
    return classifier.classify(image, 10, size).front().prediction.scores;
  }
};

TEST_F(ThreadsOfAModel, ASessionRunsOnFewerToTheSameBits) {
  const Classifier all(source(), {.threads = 4, .batch = 1});
  const std::vector<ClassScore> expected = scores(all);
  const std::vector<ClassScore> expected_small = scores(all, 32);
  for (int started = 0; started <= 3; ++started) {
    SCOPED_TRACE(started);
    const ThreadLimit limit(started);
    std::vector<std::pair<int, int>> reported;
    const Classifier fewer(source(),
                           {.threads = 4, .batch = 1, .on_fewer_threads = [&](int got, int asked) {
                              reported.emplace_back(got, asked);
                            }});
    EXPECT_EQ(scores(fewer), expected);
    EXPECT_EQ(scores(fewer, 32), expected_small);  // on the same threads
    EXPECT_EQ(calls_of(Call::kThread), std::min(started + 1, 3));
    if (started == 3) {
      EXPECT_TRUE(reported.empty());
    } else {
      EXPECT_EQ(reported, (std::vector<std::pair<int, int>>{{started + 1, 4}}));
    }
  }
}

TEST_F(ThreadsOfAModel, ABenchmarkOfFewerThreadsIsRefused) {
  const Bench bench(source());
  const ThreadLimit limit(2);
  try {
    bench.measure({64, 64, 1, 4}, {});
    FAIL() << "measured";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "3 of 4 threads can be started: the system's limit of threads or of memory is "
                 "reached");
  }
}

TEST_F(ThreadsOfAModel, ImagesAreReadWithoutABackgroundThread) {
  const ImageFiles files({data("image/photos/pixel_1x1.png"), data("image/photos/pixel_1x1.jpg"),
                          data("image/photos/kitten_gray.jpg")});
  const auto expected = Classifier(source(), {.threads = 1}).classify(files, 10);
  for (int started = 0; started <= 4; ++started) {
    const ThreadLimit limit(started);
    const auto results = Classifier(source(), {.threads = 2}).classify(files, 10);
    ASSERT_EQ(results.size(), files.size());
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].name, files.path(i));
      EXPECT_EQ(results[i].error, "");
      EXPECT_EQ(results[i].prediction.scores, expected[i].prediction.scores);
    }
  }
}

TEST_F(Threads, ALoaderWorksWithAnyNumberOfThem) {
  const TempDir folder;
  const std::string image = read_file(data("image/photos/pixel_1x1.png"));
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    write_file(folder / name, image);
  }
  const Dataset dataset = *open_dataset(folder.path().string()).whole;
  for (int started = 0; started <= 3; ++started) {
    SCOPED_TRACE(started);
    const ThreadLimit limit(started);
    Loader loader(std::make_shared<const Dataset>(dataset), {.workers = 3, .ahead = 2});
    loader.start({{0, 1}, {2, 3}, {3, 0}}, 1, [](const Loader::Slot& slot, Sample&, float* out) {
      *out = static_cast<float>(slot.sample);
    });
    std::vector<float> seen;
    while (const Batch* batch = loader.next())
      seen.insert(seen.end(), batch->data, batch->data + 2);
    EXPECT_EQ(seen, (std::vector<float>{0, 1, 2, 3, 3, 0}));
  }
}

// ---- the program ----

class ThreadsOfTheProgram : public Threads {
 protected:
  void SetUp() override {
    Threads::SetUp();
    model_ = (folder_ / "model.safetensors").string();
    ModelRequest request;
    request.model = data("golden/vig-mini-silu.pth");
    request.arch = "test_vig";
    if (can_inject()) save_model(find_source(request), model_);
  }

  std::vector<std::string> classify(int threads) const {
    return {kVig,
            "classify",
            "--model",
            model_,
            "--threads",
            std::to_string(threads),
            "--batch",
            "1",
            data("image/photos/kitten_gray.jpg"),
            data("image/photos/flower.webp")};
  }

  const TempDir folder_;
  std::string model_;
};

TEST_F(ThreadsOfTheProgram, RunsOnFewerAndSaysSoOnce) {
  const RunResult expected = run_program(classify(1));
  ASSERT_EQ(expected.exit_code, 0) << expected.err;
  for (int started = 0; started <= 4; ++started) {
    SCOPED_TRACE(started);
    const RunResult result = run_program(
        classify(4),
        {.environment = {std::string("LD_PRELOAD=") + kFaultsLibrary,
                         "VIG_FAULT=thread:" + std::to_string(started + 1) + ":always"}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, expected.out);
    // The first threads run the network; images are read by those that remain.
    const int pool = std::min(started + 1, 4);
    EXPECT_EQ(result.err, pool == 4 ? std::string()
                                    : "vig: runs on " + std::to_string(pool) +
                                          " of 4 threads: the system starts no more (limit of "
                                          "threads or memory)\n");
  }
}

TEST_F(ThreadsOfTheProgram, RefuseAStackThatIsTooSmall) {
  const RunResult result =
      run_program({"/bin/sh", "-c", "ulimit -s 1000 && exec \"$0\" models", kVig});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err,
            "vig: the stack is limited to 1000 kB; at least 2048 kB are needed (ulimit -s)\n");
}

// Stacks of threads are a matter of address space, the growing one of the main thread too: limits
// that lie close together find the limit at which the stack is refused.
TEST_F(ThreadsOfTheProgram, NeverAbortsWhereTheAddressSpaceIsLimited) {
  const RunResult expected = run_program(classify(1));
  std::vector<uint64_t> limits = {40, 50, 60, 70, 110, 150, 300, 1000};
  for (uint64_t& limit : limits) limit *= 1'000'000;
  const size_t coarse = limits.size();
  for (uint64_t limit = 80'000'000; limit < 100'000'000; limit += 500'000) limits.push_back(limit);
  int finished = 0;
  for (size_t i = 0; i < limits.size(); ++i) {
    const uint64_t limit = limits[i];
    for (const int threads : {8, 256}) {
      if (threads == 256 && i >= coarse) continue;  // takes long and finds the same
      SCOPED_TRACE(std::to_string(limit) + " bytes, threads: " + std::to_string(threads));
      const RunResult result = run_program(classify(threads), {.address_space = limit});
      if (result.exit_code == 127) continue;  // the system's libraries do not fit
      EXPECT_EQ(result.signal, 0);
      if (result.exit_code == 0) {
        EXPECT_EQ(result.out, expected.out);
        ++finished;
      } else {
        EXPECT_EQ(result.exit_code, 1);
        EXPECT_NE(result.err.find("not enough memory"), std::string::npos) << result.err;
      }
    }
  }
  EXPECT_GE(finished, 4);
}

}  // namespace
}  // namespace vig::test
