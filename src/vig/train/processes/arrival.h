// Processes come together before LibTorch connects them. So one that is missing, ends meanwhile or
// does not belong to the others is reported by all of them, within bounds, and connections from
// elsewhere, complete or not, do no harm.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "vig/train/processes/network.h"

namespace vig::train {

// A process as the others know it.
struct Station {
  std::string host;        // its name
  std::string machine;     // see machine_id
  std::string processors;  // see processors_word
  bool same_host(const Station& other) const {
    return host == other.host && machine == other.machine;
  }
};
Station own_station();

struct Arrival {
  int rank = 0, size = 1;
  std::string version;  // must be the same everywhere
  Station self;
  std::chrono::milliseconds timeout;
  std::function<void()> check;  // called while waiting; what it throws ends the waiting
};

// The first process of a group, where the others arrive.
class Reception {
 public:
  // Listens; throws Error as listen_on does.
  Reception(const std::string& host, int port);
  int port() const { return port_of(listener_); }

  // Waits for all others; the stations by rank. Throws Error when one is missing at the end, has
  // another version, or comes twice, GroupLost when one ends; the others are told.
  std::vector<Station> receive(const Arrival& arrival);
  // Lets all others go on, with a word for them without blanks.
  void admit(const std::string& word);

 private:
  struct Guest {
    Socket socket;
    std::string text;  // what it has said so far
    Deadline since;
    int rank = -1;  // not known yet
  };
  bool listen_to(Guest& guest, const Arrival& arrival);
  void hear(Guest& guest, const Arrival& arrival);
  void refuse(const std::string& sentence);

  const Socket listener_;
  std::vector<Guest> guests_;
  std::vector<Station> stations_;  // by rank; the host of those that have not arrived is empty
  int strangers_ = 0;
};

struct Admission {
  std::vector<Station> stations;
  std::string word;
};

// The other processes: goes to where the first one listens and waits until all are there. Throws
// Error when no process or another program listens there, GroupLost with what the first process
// says or when it ends.
Admission arrive(const std::string& host, int port, const Arrival& arrival);

}  // namespace vig::train
