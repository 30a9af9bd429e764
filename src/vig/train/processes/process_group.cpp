#include "vig/train/processes/process_group.h"

#include <ATen/ATen.h>
#include <c10/util/Logging.h>
#include <torch/version.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "vig/base/error.h"
#include "vig/train/processes/arrival.h"
#include "vig/train/processes/collective.h"
#include "vig/train/processes/gradient_buckets.h"

namespace vig::train {
namespace {

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

// What processes that are all there take to connect.
constexpr milliseconds kConnecting{20'000};

// The store of the launcher, or the file in which processes of one machine meet.
StorePtr common_store(const GroupMember& member, milliseconds timeout) {
  if (!member.file.empty()) {
    auto store = c10::make_intrusive<c10d::FileStore>(member.file, -1);
    store->setTimeout(timeout);
    return store;
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(member.port);
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(member.host, options);
    return c10::make_intrusive<c10d::PrefixStore>(fmt::format("vig/{}", member.attempt), store);
  } catch (const std::exception& error) {
    fail("no response from {} port {} (MASTER_ADDR, MASTER_PORT) within {} s (see --group-timeout)",
         member.host, member.port, static_cast<double>(timeout.count()) / 1000);
  }
}

StorePtr reach_store(const std::string& host, int port) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.isServer = false;
  options.waitWorkers = false;
  options.timeout = kConnecting;
  return c10::make_intrusive<c10d::TCPStore>(host, options);
}

// All processes of a group, and where LibTorch may connect them. At the port that the user knows we
// listen, until all have arrived: one incomplete message would block LibTorch's store, which
// therefore has another, needed for the moment that connecting takes.
class Meeting {
 public:
  Meeting(const GroupMember& member, const JoinOptions& options, milliseconds timeout) {
    if (member.hosted || !member.file.empty()) store_ = common_store(member, timeout);
    Arrival arrival = {
        member.rank,   member.size, fmt::format("{}, LibTorch {}", options.version, TORCH_VERSION),
        own_station(), timeout,     member.check};
    if (member.rank == 0) {
      receive(member, arrival);
    } else {
      go(member, arrival);
    }
  }

  const StorePtr& store() const { return store_; }
  const std::vector<Station>& stations() const { return stations_; }

 private:
  void receive(const GroupMember& member, const Arrival& arrival) {
    if (store_ != nullptr && store_->add("first processes", 1) > 1) {
      fail("two processes have the rank 0 (RANK)");
    }
    const bool local = !member.file.empty();
    const std::string host = local ? "127.0.0.1" : member.host;
    Reception reception(host, store_ != nullptr ? 0 : member.port);
    if (store_ != nullptr) {
      const std::string own = local ? host : address_towards(member.host, member.port);
      const std::string text = fmt::format("{} {}", own, reception.port());
      store_->set("meeting", std::vector<uint8_t>(text.begin(), text.end()));
      stations_ = reception.receive(arrival);
      reception.admit("-");
      return;
    }
    stations_ = reception.receive(arrival);
    c10d::TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    options.timeout = kConnecting;
    const auto server = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    server_ = server;
    store_ = reach_store("127.0.0.1", server->getPort());
    reception.admit(std::to_string(server->getPort()));
  }

  void go(const GroupMember& member, const Arrival& arrival) {
    if (store_ == nullptr) {
      Admission admission = arrive(member.host, member.port, arrival);
      stations_ = std::move(admission.stations);
      store_ = reach_store(member.host, port_in(admission.word));
      return;
    }
    const std::string place = await_meeting(arrival);
    const size_t blank = place.find(' ');
    if (blank == place.npos) fail("the launcher's store names no meeting point");
    stations_ = arrive(place.substr(0, blank), port_in(place.substr(blank + 1)), arrival).stations;
  }

  std::string await_meeting(const Arrival& arrival) {
    try {
      store_->wait({"meeting"}, arrival.timeout);
    } catch (const std::exception&) {
      fail("process 0 of {} did not connect within {} s (see --group-timeout)", arrival.size,
           static_cast<double>(arrival.timeout.count()) / 1000);
    }
    const std::vector<uint8_t> bytes = store_->get("meeting");
    return std::string(bytes.begin(), bytes.end());
  }

  static int port_in(const std::string& text) {
    int port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || port < 1 || port > 65535) {
      fail("process 0 names the port '{}', expected 1 to 65535", text);
    }
    return port;
  }

  StorePtr server_;
  StorePtr store_;
  std::vector<Station> stations_;
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
    try {
      meeting_.emplace(member, options, timeout);
      const StorePtr& store = meeting_->store();
      start_ = device_.is_cpu()
                   ? connect_gloo(store, member, std::min(timeout, kConnecting), timeout)
                   : connect_nccl(store, member, device_, timeout);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      // One that has failed meanwhile knows why.
      throw GroupLost(fmt::format("{} cannot be connected to the other {}: {}", own_name(),
                                  size_ - 1, reason(error)));
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }

  int hosts() const override {
    int count = 0;
    for (int rank = 0; rank < size_; ++rank) count += is_first(rank) ? 1 : 0;
    return count;
  }
  bool first_of_host() const override { return is_first(rank_); }
  std::string name(int rank) const override {
    const std::string name = Group::name(rank);
    return hosts() == 1 ? name : fmt::format("{} ({})", name, station(rank).host);
  }

  int threads() const override {
    std::vector<std::string> others;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_ && station(rank).machine == station(rank_).machine) {
        others.push_back(station(rank).processors);
      }
    }
    return processors_share(station(rank_).processors, others);
  }

  void begin_reduce(std::span<Parameters* const> shards, int64_t passes) override {
    if (!buckets_.has_value()) {
      buckets_.emplace(shards, [this](const at::Tensor& tensor) { return start_(tensor); });
    }
    buckets_->begin(passes);
  }

  void finish_reduce(std::span<Parameters* const>, std::span<double> sums) override {
    const at::Tensor host = tensor_of(sums);
    talk([&] {
      // A copy, which may outlive the call where a bucket fails first.
      const at::Tensor there = host.clone().to(device_);
      buckets_->finish(there);
      host.copy_(there);
    });
  }

  void sum(std::span<double> values) override {
    const at::Tensor host = tensor_of(values);
    talk([&] {
      const at::Tensor there = host.to(device_);
      start_(there)();
      if (!there.is_same(host)) host.copy_(there);
    });
  }

 private:
  static at::Tensor tensor_of(std::span<double> values) {
    return at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble);
  }

  const Station& station(int rank) const { return meeting_->stations()[static_cast<size_t>(rank)]; }

  // Of its host.
  bool is_first(int rank) const {
    const auto same = [&](const Station& other) { return other.same_host(station(rank)); };
    return std::ranges::find_if(meeting_->stations(), same) - meeting_->stations().begin() == rank;
  }

  std::string own_name() const {
    return fmt::format("process {} of {} ({})", rank_, size_, own_host_name());
  }

  template <class Call>
  void talk(Call&& call) {
    try {
      call();
    } catch (const std::exception& error) {
      throw GroupLost(fmt::format("{} lost the other processes: {}", own_name(), reason(error)));
    }
  }

  const int rank_, size_, local_size_;
  const at::Device device_;
  std::optional<Meeting> meeting_;
  GradientBuckets::Start start_;
  std::optional<GradientBuckets> buckets_;
};

}  // namespace

std::unique_ptr<Group> join_group(const GroupMember& member, const JoinOptions& options) {
  if (member.size == 1) return std::make_unique<Group>();
  return std::make_unique<ProcessGroup>(member, options);
}

}  // namespace vig::train
