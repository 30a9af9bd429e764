#include "vig/train/processes/arrival.h"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <thread>

#include "vig/base/processors.h"
#include "vig/train/processes/group.h"

namespace vig::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The first process says kGreeting, the other kHello and who it is, the first then kGo and the
// roster, or kNo and a reason; each is a line.
constexpr std::string_view kGreeting = "vig-train meeting 1\n";
constexpr std::string_view kHello = "hello ", kGo = "go ", kNo = "no ";
constexpr size_t kMostStation = 4096;  // bytes
constexpr seconds kHelloTime{10};      // to say a line of greeting
constexpr milliseconds kTurn{100};     // between looks at what else may happen
constexpr size_t kMostStrangers = 64;  // at a time

double in_seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000; }

// One word that others may print.
std::string word_of(const std::string& text) {
  std::string word = text.substr(0, 255);
  const auto strange = [](char c) { return c <= ' ' || c > '~'; };
  std::ranges::replace_if(word, strange, '?');
  return word.empty() ? "-" : word;
}

std::string station_text(const Station& station) {
  const bool fits = station.processors.size() < kMostStation / 2;
  return fmt::format("{} {} {}", word_of(station.host), word_of(station.machine),
                     fits ? station.processors : "-");
}

bool read_station(std::istream& in, Station& station) {
  return static_cast<bool>(in >> station.host >> station.machine >> station.processors);
}

// The first line of `text`, if it is complete.
std::optional<std::string> line_of(const std::string& text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  return text.substr(0, end);
}

void wait_for(const Socket& socket, milliseconds most) {
  pollfd waiting = {socket.descriptor(), POLLIN, 0};
  poll(&waiting, 1, static_cast<int>(most.count()));
}

}  // namespace

Station own_station() {
  return {word_of(own_host_name()), word_of(machine_id()), processors_word()};
}

Reception::Reception(const std::string& host, int port) : listener_(listen_on(host, port)) {}

std::vector<Station> Reception::receive(const Arrival& arrival) {
  const Deadline end = Clock::now() + arrival.timeout;
  stations_.assign(static_cast<size_t>(arrival.size), {});
  stations_[0] = arrival.self;
  try {
    for (;;) {
      const auto missing = std::ranges::find(stations_, std::string(), &Station::host);
      if (missing == stations_.end()) return stations_;
      if (Clock::now() >= end) {
        const auto others = std::ranges::count(stations_, std::string(), &Station::host) - 1;
        fail("process {} of {}{} did not connect within {} s (see --group-timeout){}",
             missing - stations_.begin(), arrival.size,
             others > 0 ? fmt::format(" and {} more", others) : "", in_seconds(arrival.timeout),
             strangers_ > 0 ? fmt::format("; {} connections came from other programs", strangers_)
                            : "");
      }
      if (arrival.check) arrival.check();
      std::vector<pollfd> waiting = {{listener_.descriptor(), POLLIN, 0}};
      for (const Guest& guest : guests_) waiting.push_back({guest.socket.descriptor(), POLLIN, 0});
      poll(waiting.data(), waiting.size(), static_cast<int>(kTurn.count()));
      while (Socket socket = accept_from(listener_)) {
        if (socket.write(std::string(kGreeting), Clock::now())) {
          guests_.push_back({std::move(socket), "", Clock::now()});
        }
      }
      std::erase_if(guests_, [&](Guest& guest) { return !listen_to(guest, arrival); });
      const auto strange = [](const Guest& guest) { return guest.rank < 0; };
      const size_t most = kMostStrangers + stations_.size();
      if (static_cast<size_t>(std::ranges::count_if(guests_, strange)) > most) {
        guests_.erase(std::ranges::find_if(guests_, strange));  // the oldest
        ++strangers_;
      }
    }
  } catch (const Error& error) {
    refuse(error.what());
    throw;
  }
}

// False: it is no guest any more.
bool Reception::listen_to(Guest& guest, const Arrival& arrival) {
  const bool open = guest.socket.read_into(guest.text);
  if (guest.rank < 0) hear(guest, arrival);
  if (guest.rank >= 0) {
    if (open) return true;
    throw GroupLost(fmt::format("process {} of {} ({}) ended before all were connected", guest.rank,
                                arrival.size, stations_[static_cast<size_t>(guest.rank)].host));
  }
  if (open && guest.text.size() <= kMostStation && Clock::now() < guest.since + kHelloTime) {
    return true;
  }
  ++strangers_;
  return false;
}

// Finds out who it is, if it has said all of it.
void Reception::hear(Guest& guest, const Arrival& arrival) {
  const std::optional<std::string> line = line_of(guest.text);
  if (!line.has_value() || line->size() > kMostStation || !line->starts_with(kHello)) return;
  std::istringstream in(line->substr(kHello.size()));
  int rank = 0, size = 0;
  Station station;
  std::string version;
  if (!(in >> rank >> size) || !read_station(in, station) ||
      !std::getline(in >> std::ws, version)) {
    return;
  }
  if (size != arrival.size || version != arrival.version) {
    fail(
        "process {} ({}) is of '{}, {} processes', process 0 ({}) of '{}, {} processes'; expected "
        "the "
        "same everywhere",
        rank, station.host, version, size, arrival.self.host, arrival.version, arrival.size);
  }
  if (rank < 0 || rank >= size) return;
  Station& known = stations_[static_cast<size_t>(rank)];
  if (!known.host.empty()) {
    fail("two processes have the rank {} (RANK), on {} and {}", rank, known.host, station.host);
  }
  known = station;
  guest.rank = rank;
}

void Reception::admit(const std::string& word) {
  std::string text = fmt::format("{}{}", kGo, word);
  for (const Station& station : stations_) text += ' ' + station_text(station);
  const Deadline end = Clock::now() + kHelloTime;
  for (const Guest& guest : guests_) {
    if (guest.rank >= 0) guest.socket.write(text + '\n', end);  // or it has ended, as all will see
  }
  guests_.clear();
}

void Reception::refuse(const std::string& sentence) {
  const std::string line = sentence.substr(0, sentence.find('\n'));
  for (const Guest& guest : guests_) {
    guest.socket.write(fmt::format("{}{}\n", kNo, line), Clock::now() + seconds(1));
  }
  guests_.clear();
}

namespace {

// A connection to the first process, which has greeted.
Socket find_first(const std::string& host, int port, const Arrival& arrival, Deadline end,
                  std::string& text) {
  std::string why = "no process listens there";
  while (Clock::now() < end) {
    if (arrival.check) arrival.check();
    Socket socket = connect_to(host, port, std::min(end, Clock::now() + seconds(5)), why);
    const Deadline greeted = std::min(end, Clock::now() + kHelloTime);
    bool open = static_cast<bool>(socket);
    while (open && Clock::now() < greeted && text.size() < kGreeting.size()) {
      wait_for(socket, kTurn);
      open = socket.read_into(text);
    }
    if (text.starts_with(kGreeting)) {
      text.erase(0, kGreeting.size());
      return socket;
    }
    // One that ends just now has said nothing; another program may say or await something else.
    if (socket && (open || !text.empty())) {
      fail(
          "another program listens on {} port {} (MASTER_ADDR, MASTER_PORT): it does not greet as "
          "vig-train does",
          host, port);
    }
    if (socket) why = "the connection was closed";
    std::this_thread::sleep_for(kTurn);
  }
  fail(
      "no response from {} port {} (MASTER_ADDR, MASTER_PORT) within {} s (see --group-timeout): "
      "{}",
      host, port, in_seconds(arrival.timeout), why);
}

}  // namespace

Admission arrive(const std::string& host, int port, const Arrival& arrival) {
  const Deadline end = Clock::now() + arrival.timeout;
  std::string text;
  const Socket socket = find_first(host, port, arrival, end, text);
  bool open = socket.write(fmt::format("{}{} {} {} {}\n", kHello, arrival.rank, arrival.size,
                                       station_text(arrival.self), arrival.version),
                           end);
  // The first process gives up before this one does, and says why.
  const Deadline last = end + seconds(5);
  const size_t most = (static_cast<size_t>(arrival.size) + 1) * kMostStation;
  while (!line_of(text).has_value() && open && text.size() <= most) {
    if (arrival.check) arrival.check();
    if (Clock::now() >= last) {
      fail("process 0 ({}) has not admitted process {} of {} within {} s (see --group-timeout)",
           host, arrival.rank, arrival.size, in_seconds(arrival.timeout));
    }
    wait_for(socket, kTurn);
    open = socket.read_into(text);
  }
  const std::string line = line_of(text).value_or("");
  if (line.starts_with(kNo)) throw GroupLost(line.substr(kNo.size()));
  Admission admission;
  admission.stations.resize(static_cast<size_t>(arrival.size));
  std::istringstream in(line.starts_with(kGo) ? line.substr(kGo.size()) : "");
  bool complete = static_cast<bool>(in >> admission.word);
  for (Station& station : admission.stations) complete = complete && read_station(in, station);
  if (!complete) {
    throw GroupLost(
        fmt::format("process 0 ({}) ended before all {} were connected", host, arrival.size));
  }
  return admission;
}

}  // namespace vig::train
