#include "vig/train/processes/agreement.h"

#include <cstring>
#include <vector>

#include "vig/base/random.h"

namespace vig::train {
namespace {

constexpr uint64_t kAnyValue = 0;

// The values of every process, one after the other. Halves of 32 bits, as doubles hold them
// exactly, and the zeros of the others do not change them.
std::vector<uint64_t> gather(Group& group, const std::vector<uint64_t>& own) {
  const size_t first = static_cast<size_t>(group.rank()) * own.size();
  std::vector<double> halves(2 * own.size() * static_cast<size_t>(group.size()));
  for (size_t i = 0; i < own.size(); ++i) {
    halves[2 * (first + i)] = static_cast<double>(own[i] >> 32);
    halves[2 * (first + i) + 1] = static_cast<double>(own[i] & 0xffffffffu);
  }
  group.sum(halves);
  std::vector<uint64_t> all(halves.size() / 2);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<uint64_t>(halves[2 * i]) << 32 | static_cast<uint64_t>(halves[2 * i + 1]);
  }
  return all;
}

}  // namespace

void check_agreement(Group& group, const std::map<std::string, std::string>& facts) {
  if (group.size() == 1) return;
  // First their names, without which the rest could not be compared.
  std::string names;
  std::vector<uint64_t> values;
  for (const auto& [name, value] : facts) {
    names += name + '\n';
    values.push_back(value.empty() && group.rank() != 0 ? kAnyValue : hash_name(value));
  }
  const std::vector<uint64_t> all_names = gather(group, {hash_name(names)});
  for (int rank = 1; rank < group.size(); ++rank) {
    if (all_names[static_cast<size_t>(rank)] == all_names[0]) continue;
    fail("{} trains another kind of model than {}", group.name(rank), group.name(0));
  }
  const std::vector<uint64_t> all = gather(group, values);
  for (int rank = 1; rank < group.size(); ++rank) {
    size_t i = 0;
    for (const auto& [name, value] : facts) {
      const uint64_t other = all[static_cast<size_t>(rank) * facts.size() + i];
      if (other != all[i] && other != kAnyValue) {
        fail("{} does not agree with {} on {} (on {} it is {})", group.name(rank), group.name(0),
             name, group.name(group.rank()), value);
      }
      ++i;
    }
  }
}

std::string values_mark(const at::Tensor& values) {
  const at::Tensor host = values.detach().to(at::kCPU).contiguous();
  const float* data = host.data_ptr<float>();
  uint64_t mark = 0;
  for (int64_t i = 0; i < host.numel(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, data + i, sizeof(bits));
    mark = mix_bits(mark ^ bits);
  }
  return fmt::format("{:016x}", mark);
}

}  // namespace vig::train
