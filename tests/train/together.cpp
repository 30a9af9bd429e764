#include "train/together.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "vig/base/error.h"

namespace vig::test {

namespace fs = std::filesystem;
using train::Group;
using train::GroupMember;
using train::TrainOptions;

namespace {

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

}  // namespace

GroupMember member_in_file(int rank, int size, const fs::path& file) {
  GroupMember member;
  member.rank = rank;
  member.size = size;
  member.file = file.string();
  return member;
}

std::vector<std::string> run_all(int count, const std::function<void(int rank)>& work) {
  std::vector<std::string> sentences(static_cast<size_t>(count));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < count; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          work(rank);
        } catch (const Error& error) {
          sentences[static_cast<size_t>(rank)] = error.what();
        }
      });
    }
  }
  return sentences;
}

std::vector<std::string> run_group(int count, const std::function<void(Group&)>& work) {
  signal(SIGPIPE, SIG_IGN);  // as the program does: a lost connection shows in the failing write
  const TempDir meeting;
  return run_all(count, [&](int rank) {
    const auto group =
        train::join_group(member_in_file(rank, count, meeting / "file"), {"cpu", kPlenty, "test"});
    work(*group);
  });
}

std::vector<train::MetricsRow> train_together(int count, const TrainOptions& options,
                                              const std::string& data, const std::string& out) {
  std::vector<train::MetricsRow> rows;
  train::TrainEvents events;
  events.row = [&](const train::MetricsRow& row, double) { rows.push_back(row); };
  const std::vector<std::string> sentences =
      run_group(count, [&](Group& group) { train::train(options, data, out, events, group); });
  EXPECT_EQ(sentences, std::vector<std::string>(static_cast<size_t>(count)));
  return rows;
}

double difference(const fs::path& actual, const fs::path& expected,
                  const std::set<std::string>& tensors) {
  const auto one = tensor_bytes(actual / "checkpoint.safetensors");
  const auto other = tensor_bytes(expected / "checkpoint.safetensors");
  EXPECT_EQ(one.size(), other.size());
  double worst = 0;
  for (const auto& [name, bytes] : other) {
    if (!tensors.contains(name)) continue;
    const std::vector<float> a = floats_of(one.at(name)), b = floats_of(bytes);
    EXPECT_EQ(a.size(), b.size()) << name;
    float largest = 0, farthest = 0;
    bool finite = true;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      finite = finite && std::isfinite(a[i]) && std::isfinite(b[i]);
      largest = std::max(largest, std::abs(b[i]));
      farthest = std::max(farthest, std::abs(a[i] - b[i]));
    }
    EXPECT_TRUE(finite) << name;
    EXPECT_GT(largest, 0) << name;
    worst = std::max(worst, static_cast<double>(farthest) / largest);
  }
  return worst;
}

}  // namespace vig::test
