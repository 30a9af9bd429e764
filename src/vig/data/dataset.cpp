#include "vig/data/dataset.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/data/image_store.h"
#include "vig/data/target.h"

namespace vig {
namespace {

// How many of each class go to validation: in proportion, rounded down, and what is left over to
// those that lost most by it. One of each stays behind, and a class of two or more gives at least
// one, even where all together then give more than `count`.
std::vector<size_t> share_out(const std::vector<size_t>& class_sizes, size_t total, size_t count) {
  const size_t classes = class_sizes.size();
  std::vector<size_t> shares(classes), lost(classes), order(classes);
  size_t left = count;
  for (size_t c = 0; c < classes; ++c) {
    // Below 2^64, since files are counted in 32 bits.
    const uint64_t product = uint64_t{count} * class_sizes[c];
    shares[c] = product / total;  // less than all of it, as count < total
    lost[c] = product % total;
    left -= shares[c];
  }
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t c) { return lost[c]; });
  for (bool given = true; given && left > 0;) {
    given = false;
    for (const size_t c : order) {
      if (left == 0 || shares[c] + 1 >= class_sizes[c]) continue;
      ++shares[c];
      --left;
      given = true;
    }
  }
  for (size_t c = 0; c < classes; ++c) {
    if (class_sizes[c] > 1) shares[c] = std::max<size_t>(shares[c], 1);
  }
  return shares;
}

}  // namespace

std::string_view Dataset::name(size_t sample) const {
  return std::string_view(store_->archive().files()[samples_[sample].file]).substr(prefix_);
}

std::string Dataset::location(size_t sample) const {
  return store_->archive().location(samples_[sample].file);
}

std::string Dataset::path(size_t sample) const {
  return store_->archive().file_path(samples_[sample].file);
}

std::shared_ptr<const Image> Dataset::decode(size_t sample) const {
  return store_->decode(samples_[sample].file);
}

Sample Dataset::load(size_t sample) const { return {decode(sample), make_target(label(sample))}; }

void Dataset::sort() {
  const std::vector<std::string>& files = store_->archive().files();
  std::ranges::sort(samples_, [&](const Entry& a, const Entry& b) {
    return a.label != b.label ? a.label < b.label : files[a.file] < files[b.file];
  });
}

std::vector<std::vector<size_t>> Dataset::shards() const {
  const Archive& archive = store_->archive();
  std::vector<std::vector<size_t>> shards(archive.shard_count());
  if (shards.empty()) return shards;
  for (size_t i = 0; i < size(); ++i) shards[archive.shard(samples_[i].file)].push_back(i);
  std::erase_if(shards, [](const auto& samples) { return samples.empty(); });
  return shards;
}

Dataset Dataset::subset(std::span<const size_t> samples) const {
  Dataset part = *this;
  part.samples_.clear();
  part.samples_.reserve(samples.size());
  for (const size_t sample : samples) {
    if (sample >= size()) fail_usage("[data] sample {} of {} is asked for", sample, size());
    part.samples_.push_back(samples_[sample]);
  }
  return part;
}

const std::vector<std::string>& DatasetSplits::classes() const {
  for (const auto* split : {&whole, &train, &val, &test}) {
    if (*split) return (*split)->classes();
  }
  fail_usage("[data] no split of a dataset was opened");
}

HeldOut hold_out(const Dataset& dataset, size_t count, uint64_t seed) {
  if (count == 0 || count >= dataset.size()) {
    fail_usage("[data] {} of {} samples cannot be split off, expected at least 1 and some left",
               count, dataset.size());
  }
  // A sample's rank comes from its name, so neither its position in the list nor the others matter.
  struct Drawn {
    uint64_t key;
    size_t sample;
  };
  const RandomStream stream = RandomStream(seed).fork("split");
  std::vector<std::vector<Drawn>> by_class(dataset.classes().size());
  for (size_t i = 0; i < dataset.size(); ++i) {
    const uint64_t key = stream.fork(dataset.name(i)).bits();
    by_class[static_cast<size_t>(dataset.label(i))].push_back({key, i});
  }
  std::vector<size_t> sizes;
  for (const auto& drawn : by_class) sizes.push_back(drawn.size());
  const std::vector<size_t> shares = share_out(sizes, dataset.size(), count);

  std::vector<bool> chosen(dataset.size());
  for (size_t c = 0; c < by_class.size(); ++c) {
    std::ranges::sort(by_class[c], [&](const Drawn& a, const Drawn& b) {
      return a.key != b.key ? a.key < b.key : dataset.name(a.sample) < dataset.name(b.sample);
    });
    for (size_t i = 0; i < shares[c]; ++i) chosen[by_class[c][i].sample] = true;
  }
  std::vector<size_t> train, validation;
  for (size_t i = 0; i < dataset.size(); ++i) (chosen[i] ? validation : train).push_back(i);
  if (validation.empty()) {
    fail("expected classes of two images or more to split some off for validation, found {} of 1",
         dataset.size());
  }
  return {dataset.subset(train), dataset.subset(validation)};
}

}  // namespace vig
