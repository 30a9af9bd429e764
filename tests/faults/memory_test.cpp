// Every allocation of loading, classifying and embedding fails once, alone and with all after it:
// an exception or the same result, never an abort, and never blamed on a file.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "faults/fixture.h"
#include "faults/inject.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/save_model.h"

namespace vig::test {
namespace {

// How a process ended whose allocation failed. Anything else is a bug.
enum Ending : int { kSameResult = 0, kNoMemory = 3, kOtherResult = 4, kOtherError = 5 };

// The process forks at each allocation: the child continues without that memory, while this one
// waits for its end and then continues with the memory. So all failures take little more than one
// run. One thread alone: a fork has no other.
struct Forks {
  bool always = false;  // every later allocation of the child fails, too
  bool child = false;
  int64_t forked = 0;
  std::map<int, int64_t> endings;  // by status, as waitpid gives it
  std::vector<int64_t> strange;    // indices of the first allocations that ended otherwise
};
Forks* g_forks = nullptr;
int g_statuses[1 << 20];  // by allocation: nothing may allocate while one is decided

bool fork_here(Call call, int64_t number) {
  if (call != Call::kMemory) return false;
  if (g_forks->child) return g_forks->always;
  if (number >= static_cast<int64_t>(std::size(g_statuses))) std::abort();
  off_t offsets[32];  // in open files, which both processes share
  for (int file = 3; file < 32; ++file) offsets[file] = lseek(file, 0, SEEK_CUR);
  const pid_t child = fork();
  if (child == 0) {
    g_forks->child = true;
    alarm(60);
    return true;
  }
  g_statuses[number] = -1;
  if (child > 0) waitpid(child, &g_statuses[number], 0);
  for (int file = 3; file < 32; ++file) {
    if (offsets[file] >= 0) lseek(file, offsets[file], SEEK_SET);
  }
  g_forks->forked = number;
  return false;
}

// Nothing can be thrown from a destructor that allocates. A program has to end itself then, as vig
// does.
[[noreturn]] void end_child() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    if (g_forks->child) _exit(kNoMemory);
  } catch (...) {
  }
  std::abort();
}

void say(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

// Runs `operation`, which gives the result as text, with each allocation failing in turn.
template <class Operation>
void fail_every_allocation(bool always, int64_t at_least, const Operation& operation) {
  const std::string expected = operation();  // and what is allocated once a process is there
  Forks forks;
  forks.always = always;
  g_forks = &forks;
  int ending = kSameResult;
  {
    std::string result;
    const std::terminate_handler before = std::set_terminate(end_child);
    inject(fork_here);
    try {
      result = operation();
      ending = result == expected ? kSameResult : kOtherResult;
    } catch (const std::bad_alloc&) {
      ending = kNoMemory;
    } catch (const std::exception& error) {
      const bool memory = std::strstr(error.what(), "not enough memory") != nullptr ||
                          std::strstr(error.what(), std::strerror(ENOMEM)) != nullptr;
      ending = memory ? kNoMemory : kOtherError;
      if (ending == kOtherError) say(error.what()), say("\n");
    }
    if (forks.child) {
      if (ending == kOtherResult) say(result.c_str()), say("\n");
      _exit(ending);
    }
    inject(nullptr);
    std::set_terminate(before);
  }
  ASSERT_EQ(ending, kSameResult);
  EXPECT_GE(forks.forked, at_least);
  for (int64_t n = 1; n <= forks.forked; ++n) {
    const int status = g_statuses[n];
    const bool good = WIFEXITED(status) &&
                      (WEXITSTATUS(status) == kSameResult || WEXITSTATUS(status) == kNoMemory);
    ++forks.endings[status];
    if (!good && forks.strange.size() < 20) forks.strange.push_back(n);
  }
  EXPECT_TRUE(forks.strange.empty())
      << ::testing::PrintToString(forks.strange) << ::testing::PrintToString(forks.endings);
  // Nearly all of them matter, so nearly all must have been noticed.
  EXPECT_GT(forks.endings[W_EXITCODE(kNoMemory, 0)], forks.forked / 2);
}

std::string as_text(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

class EveryAllocation : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!can_inject()) GTEST_SKIP() << "sanitisers have a heap of their own";
    ModelRequest request;
    request.model = data("golden/vig-mini-silu.pth");
    request.arch = "test_vig";
    model_ = (folder_ / "model.safetensors").string();
    save_model(find_source(request), model_);
  }

  const TempDir folder_;
  std::string model_;
};

TEST_P(EveryAllocation, OfLoadingAndClassifying) {
  fail_every_allocation(GetParam(), 500, [this] {
    ModelRequest request;
    request.model = model_;
    const Classifier classifier(find_source(request), {.threads = 1, .batch = 1});
    const ImageFiles images({data("image/photos/pixel_1x1.png")});
    std::string text;
    for (const ClassifiedImage& image : classifier.classify(images, 2)) {
      if (!image.error.empty()) throw std::runtime_error(image.error);
      for (const ClassScore& score : image.prediction.scores) text += std::to_string(score.logit);
    }
    return text;
  });
}

TEST_P(EveryAllocation, OfLoadingACheckpointAndEmbedding) {
  fail_every_allocation(GetParam(), 500, [] {
    ModelRequest request;
    request.model = data("golden/vig-mini-silu.pth");
    request.arch = "test_vig";
    const Embedder embedder(find_source(request), {.threads = 1, .batch = 1});
    const ImageFiles images({data("image/photos/pixel_1x1.jpg")});
    std::string text;
    for (const EmbeddedImage& image : embedder.embed(images, Embedder::Kind::kPooled)) {
      if (!image.error.empty()) throw std::runtime_error(image.error);
      text += as_text(image.prediction.values);
    }
    return text;
  });
}

// Lossless WebP and alpha channels are left out: libwebp 1.2.4 itself writes to memory it did not
// get.
TEST_P(EveryAllocation, OfDecodingImages) {
  Recipe recipe;
  recipe.resize = recipe.crop = 8;
  for (const char* name :
       {"photos/cat_progressive_320x240.jpg", "photos/logo_cmyk.jpg",
        "photos/rocket_palette_2bit.png", "pngsuite/basi6a08.png", "photos/flower.webp"}) {
    SCOPED_TRACE(name);
    fail_every_allocation(GetParam(), 5, [&] {
      const Sample sample = ImageFiles({data("image/") + name}).load(0);
      const Image crop = crop_to_recipe(*sample.image, recipe);
      return std::string(crop.rgb.begin(), crop.rgb.end());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Fails, EveryAllocation, ::testing::Values(false, true),
                         [](const auto& test) { return test.param ? "WithAllAfter" : "Alone"; });

}  // namespace
}  // namespace vig::test
