#include "vig/data/loader.h"

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "vig/base/error.h"

namespace vig {

struct Loader::Work {
  Batch batch;
  Buffer memory;                       // unless the caller has given some
  float* data = nullptr;               // where samples are written
  std::vector<Sample> items;           // by position
  std::vector<std::string> sentences;  // by position: why there is no sample; empty if there is
  std::exception_ptr error;            // the first by position
  size_t error_position = 0;
  size_t left = 0;  // samples to be made
};

Loader::Loader(std::shared_ptr<const SampleSource> source, const LoaderOptions& options)
    : source_(std::move(source)),
      workers_(options.workers),
      ahead_(options.ahead),
      keep_images_(options.keep_images) {
  if (workers_ < 0) fail_usage("[loader] {} workers, expected 0 or more", workers_);
  if (ahead_ == 0) fail_usage("[loader] 0 batches ahead, expected at least 1");
  threads_.reserve(static_cast<size_t>(workers_));
  try {
    for (int i = 0; i < workers_; ++i) {
      threads_.emplace_back([this](std::stop_token stop) { serve(stop); });
    }
  } catch (const std::system_error&) {  // the threads that did start do all
    workers_ = static_cast<int>(threads_.size());
  }
}

Loader::~Loader() {
  for (std::jthread& thread : threads_) thread.request_stop();  // all, before one is waited for
}

void Loader::start(std::vector<std::vector<size_t>> batches, size_t floats_per_sample, Write write,
                   const std::vector<float*>& memory) {
  size_t largest = 0;
  for (const std::vector<size_t>& batch : batches) {
    largest = std::max(largest, batch.size());
    for (const size_t sample : batch) {
      if (sample >= source_->size()) {
        fail_usage("[loader] sample {} of {} is asked for", sample, source_->size());
      }
    }
  }
  constexpr size_t kMaxFloats = std::numeric_limits<size_t>::max() / 2 / sizeof(float);
  if (largest > 0 && floats_per_sample > kMaxFloats / largest) {
    fail_usage("[loader] {} samples of {} floats are more than any memory holds", largest,
               floats_per_sample);
  }

  std::unique_lock lock(mutex_);
  batches_.clear();  // should memory run out below, there is nothing to hand out
  handed_out_ = prepared_ = 0;
  next_ = {0, 0, 0};
  done_.wait(lock, [&] { return busy_ == 0; });

  // Without workers nothing is made ahead.
  const size_t most = memory.empty() ? ahead_ + 1 : memory.size();
  ring_.resize(std::min(workers_ == 0 ? 1 : most, batches.size()));
  const size_t bytes = largest * floats_per_sample * sizeof(float);
  for (size_t i = 0; i < ring_.size(); ++i) {
    Work& work = ring_[i];
    if (memory.empty() && work.memory.bytes() < bytes) work.memory = Buffer(bytes);
    work.data = memory.empty() ? work.memory.floats() : memory[i];
  }
  batches_ = std::move(batches);
  floats_per_sample_ = floats_per_sample;
  write_ = std::move(write);
  while (prepared_ < ring_.size()) prepare();
  begin_.notify_all();
}

Batch* Loader::next() {
  std::unique_lock lock(mutex_);
  // The batch handed out before makes room for another.
  if (handed_out_ > 0 && prepared_ < batches_.size()) {
    prepare();
    begin_.notify_all();
  }
  if (handed_out_ == batches_.size()) return nullptr;

  Work& work = ring_[handed_out_ % ring_.size()];
  if (workers_ == 0) {
    lock.unlock();
    for (Slot slot; take(slot);) make(slot);
    lock.lock();
  }
  done_.wait(lock, [&] { return work.left == 0; });
  const size_t index = handed_out_++;
  if (work.error != nullptr) std::rethrow_exception(work.error);
  hand_out(work, index);
  return &work.batch;
}

void Loader::serve(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Slot slot;
    if (!begin_.wait(lock, stop, [&] { return take(slot); }) || stop.stop_requested()) return;
    ++busy_;
    lock.unlock();
    make(slot);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

void Loader::prepare() {
  Work& work = ring_[prepared_ % ring_.size()];
  const size_t size = batches_[prepared_].size();
  work.items.assign(size, {});
  work.sentences.assign(size, "");
  work.error = nullptr;
  work.left = size;
  ++prepared_;
}

bool Loader::take(Slot& slot) {
  while (next_.batch < prepared_ && next_.position == batches_[next_.batch].size()) {
    next_ = {next_.batch + 1, 0, 0};
  }
  if (next_.batch >= prepared_) return false;
  slot = {next_.batch, next_.position, batches_[next_.batch][next_.position]};
  ++next_.position;
  return true;
}

void Loader::make(const Slot& slot) {
  Work& work = ring_[slot.batch % ring_.size()];
  std::exception_ptr error;
  try {
    Sample loaded;
    try {
      loaded = source_->load(slot.sample);
    } catch (const Error& bad_file) {
      work.sentences[slot.position] = bad_file.what();
    }
    if (loaded.image != nullptr) {
      write_(slot, loaded, work.data + slot.position * floats_per_sample_);
      if (!keep_images_) loaded.image = nullptr;
      work.items[slot.position] = std::move(loaded);
    }
  } catch (...) {
    error = std::current_exception();
  }

  const std::lock_guard lock(mutex_);
  if (error != nullptr && (work.error == nullptr || slot.position < work.error_position)) {
    work.error = error;
    work.error_position = slot.position;
  }
  if (--work.left == 0) done_.notify_one();
}

void Loader::hand_out(Work& work, size_t index) {
  Batch& batch = work.batch;
  batch = {};
  batch.index = index;
  batch.data = work.data;
  batch.memory = index % ring_.size();
  for (size_t position = 0; position < work.sentences.size(); ++position) {
    const size_t sample = batches_[index][position];
    if (!work.sentences[position].empty()) {
      if (reported_.insert(sample).second) {
        batch.problems.push_back(
            {source_->location(sample), std::move(work.sentences[position]), sample});
      }
      continue;
    }
    const size_t to = batch.samples.size();
    if (to != position) {  // close the gap
      const float* from = batch.data + position * floats_per_sample_;
      std::copy(from, from + floats_per_sample_, batch.data + to * floats_per_sample_);
    }
    batch.samples.push_back(sample);
    batch.items.push_back(std::move(work.items[position]));
  }
}

}  // namespace vig
