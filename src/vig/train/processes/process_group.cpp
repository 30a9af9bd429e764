#include "vig/train/processes/process_group.h"

#include <ATen/ATen.h>
#include <c10/util/Logging.h>
#include <torch/version.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "vig/base/error.h"
#include "vig/train/processes/collective.h"
#include "vig/train/processes/gradient_buckets.h"

namespace vig::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

// LibTorch logs failures to standard error before it throws them; here they are reported once.
class QuietLog {
 public:
  QuietLog() : before_(std::exchange(level(), 3)) {}  // only what is fatal
  ~QuietLog() { level() = before_; }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  static int& level() {
#ifdef C10_USE_GLOG
    return FLAGS_minloglevel;
#else
    return FLAGS_caffe2_log_level;
#endif
  }
  const int before_;
};

// What LibTorch or Gloo has to say, in one line, without the location in their sources: the
// system's words if it comes from there.
std::string reason(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  const size_t system = text.find("(errno: ");
  const size_t words = text.find(" - ", system);
  if (system != std::string::npos && words != std::string::npos) {
    return text.substr(words + 3, text.find(')', words) - words - 3);
  }
  text = text.substr(0, text.find('\n'));
  if (text.starts_with('[')) text.erase(0, text.find("] ") + 2);
  while (text.ends_with('.') || text.ends_with(' ')) text.pop_back();
  return text;
}

StorePtr open_store(const GroupMember& member, milliseconds timeout) {
  if (!member.file.empty()) {
    auto store = c10::make_intrusive<c10d::FileStore>(member.file, -1);
    store->setTimeout(timeout);
    return store;
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(member.port);
  options.isServer = member.rank == 0 && !member.hosted;
  options.waitWorkers = false;  // we ask for them by name
  options.timeout = timeout;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(member.host, options);
    return c10::make_intrusive<c10d::PrefixStore>(fmt::format("vig/{}", member.attempt), store);
  } catch (const std::exception& error) {
    if (options.isServer) {
      fail("cannot listen on {} port {} (MASTER_ADDR, MASTER_PORT): {}", member.host, member.port,
           reason(error));
    }
    fail("no response from {} port {} (MASTER_ADDR, MASTER_PORT) within {} s (see --group-timeout)",
         member.host, member.port, static_cast<double>(timeout.count()) / 1000);
  }
}

// Processes write down who they are and read what the others are.
class Meeting {
 public:
  Meeting(c10d::Store& store, const GroupMember& member, milliseconds timeout)
      : store_(store), member_(member), timeout_(timeout), end_(Clock::now() + timeout) {}

  void hold(const std::string& self) {
    // The first word to another process is a wait: that one is bounded.
    if (member_.rank == 0) write(self);
    const std::string first = read(0);
    if (member_.rank != 0) write(self);
    compare(0, first, self);
    if (member_.rank != 0) return;
    for (int rank = 1; rank < member_.size; ++rank) compare(rank, read(rank), self);
  }

 private:
  static std::string key(int rank) { return fmt::format("process/{}", rank); }

  void write(const std::string& self) {
    if (store_.add(fmt::format("count/{}", member_.rank), 1) > 1) {
      fail("two processes have the rank {} (RANK)", member_.rank);
    }
    store_.set(key(member_.rank), std::vector<uint8_t>(self.begin(), self.end()));
  }

  std::string read(int rank) {
    try {
      const auto left = std::chrono::duration_cast<milliseconds>(end_ - Clock::now());
      store_.wait({key(rank)}, std::max(left, milliseconds(1)));
    } catch (const std::exception&) {
      fail("process {} of {} did not connect within {} s (see --group-timeout)", rank, member_.size,
           static_cast<double>(timeout_.count()) / 1000);
    }
    const std::vector<uint8_t> bytes = store_.get(key(rank));
    return std::string(bytes.begin(), bytes.end());
  }

  void compare(int rank, const std::string& other, const std::string& self) const {
    if (other == self) return;
    fail("process {} is of '{}', process {} of '{}'; expected the same everywhere", rank, other,
         member_.rank, self);
  }

  c10d::Store& store_;
  const GroupMember& member_;
  const milliseconds timeout_;
  const Clock::time_point end_;
};

class ProcessGroup : public Group {
 public:
  ProcessGroup(const GroupMember& member, const JoinOptions& options)
      : rank_(member.rank),
        size_(member.size),
        local_size_(member.local_size),
        device_(options.device) {
    const auto timeout = milliseconds(std::llround(options.timeout * 1000));
    const QuietLog quiet;
    store_ = open_store(member, timeout);
    try {
      Meeting(*store_, member, timeout)
          .hold(
              fmt::format("{}, LibTorch {}, {} processes", options.version, TORCH_VERSION, size_));
      start_ = device_.is_cpu() ? connect_gloo(store_, member, timeout)
                                : connect_nccl(store_, member, device_, timeout);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      // One that has failed meanwhile knows why.
      throw GroupLost(
          fmt::format("the {} processes cannot be connected: {}", size_, reason(error)));
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }

  void begin_reduce(std::span<Parameters* const> shards, int64_t passes) override {
    if (!buckets_.has_value()) {
      buckets_.emplace(shards, [this](const at::Tensor& tensor) { return start_(tensor); });
    }
    buckets_->begin(passes);
  }

  void finish_reduce(std::span<Parameters* const>) override {
    talk([&] { buckets_->finish(); });
  }

  void sum(std::span<double> values) override {
    const at::Tensor host =
        at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble);
    talk([&] {
      const at::Tensor there = host.to(device_);
      start_(there)();
      if (!there.is_same(host)) host.copy_(there);
    });
  }

 private:
  template <class Call>
  void talk(Call&& call) {
    try {
      call();
    } catch (const std::exception& error) {
      throw GroupLost(fmt::format("lost the other processes: {}", reason(error)));
    }
  }

  const int rank_, size_, local_size_;
  const at::Device device_;
  StorePtr store_;
  GradientBuckets::Start start_;
  std::optional<GradientBuckets> buckets_;
};

}  // namespace

std::unique_ptr<Group> join_group(const GroupMember& member, const JoinOptions& options) {
  if (member.size == 1) return std::make_unique<Group>();
  return std::make_unique<ProcessGroup>(member, options);
}

}  // namespace vig::train
