// Threads that decode images and prepare batches ahead of the model.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/data/image_files.h"

namespace vig {

// A sample that could not be loaded.
struct Problem {
  std::string location;  // SampleSource::location
  std::string sentence;  // names the location, too
  size_t sample = 0;
};

struct Batch {
  size_t index = 0;  // in the list given to Loader::start
  // The samples that are good, in the order asked for: bad ones are left out, so there may be fewer
  // than were asked for, or none.
  std::vector<size_t> samples;
  // These samples as Write left them; without their images unless LoaderOptions::keep_images.
  std::vector<Sample> items;
  float* data = nullptr;          // [samples, floats_per_sample]; may be written to
  size_t memory = 0;              // which of the blocks given to Loader::start `data` is
  std::vector<Problem> problems;  // bad samples never reported before by this loader
};

struct LoaderOptions {
  int workers = 1;           // at most; 0: everything happens in the thread that asks
  size_t ahead = 2;          // finished batches kept beside the one handed out; > 0
  bool keep_images = false;  // in Batch::items
};

// What it hands out does not depend on the number of workers. One thread at a time may use it.
class Loader {
 public:
  // Where a sample goes; a key for what is drawn at random should be made from `sample`.
  struct Slot {
    size_t batch;     // in the list
    size_t position;  // in the batch as asked for
    size_t sample;    // in the list of images
  };
  // Writes the floats of one sample, and may change its target along with the image. Called by
  // several threads at a time. What it throws, Loader::next throws in place of that batch.
  using Write = std::function<void(const Slot&, Sample&, float* out)>;

  Loader(std::shared_ptr<const SampleSource> source, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  const SampleSource& source() const { return *source_; }

  // Begins an epoch; what is left of the last one is dropped. Batches are written into the blocks
  // of `memory`, each large enough for the largest batch, so as many batches are made ahead as
  // there are blocks but one; none: into memory of the loader's own. Throws Error (usage) on
  // samples that do not exist.
  void start(std::vector<std::vector<size_t>> batches, size_t floats_per_sample, Write write,
             const std::vector<float*>& memory = {});

  // The next batch, in order and valid until the next call of next or start; null after the last
  // one.
  Batch* next();

  // Bad samples that are not reported again; to be changed between epochs, for others' sake.
  std::unordered_set<size_t>& reported() { return reported_; }

 private:
  struct Work;  // a batch in the making

  void serve(std::stop_token stop);
  void prepare();  // makes room for the next batch, so that its samples may be taken
  bool take(Slot& slot);
  void make(const Slot& slot);
  void hand_out(Work& work, size_t index);

  const std::shared_ptr<const SampleSource> source_;
  int workers_;  // that the system has started
  const size_t ahead_;
  const bool keep_images_;
  std::vector<std::vector<size_t>> batches_;
  size_t floats_per_sample_ = 0;
  Write write_;

  std::mutex mutex_;                   // for what follows, and for changing the three above
  std::condition_variable_any begin_;  // there is something to take
  std::condition_variable done_;       // a batch is complete, or all workers are idle
  std::vector<Work> ring_;             // batch i is made in place i % size
  size_t prepared_ = 0;                // batches whose samples may be taken
  size_t handed_out_ = 0;              // batches; the last of them still belongs to the caller
  Slot next_ = {0, 0, 0};              // to be taken
  int busy_ = 0;                       // workers making a sample
  std::unordered_set<size_t> reported_;
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

}  // namespace vig
