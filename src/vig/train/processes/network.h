// Sockets, names and addresses of hosts.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace vig::train {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  // What has arrived, appended to `text`, without waiting; false: the other end is gone.
  bool read_into(std::string& text) const;
  // All of it, or false.
  bool write(const std::string& text, Deadline end) const;

 private:
  int descriptor_ = -1;
};

// Listens on a port, 0 being any: for this machine alone where `host` means it. Throws Error with
// the system's reason.
Socket listen_on(const std::string& host, int port);
int port_of(const Socket& listener);
// The next connection that waits, if any; it never blocks and notices within half a minute when the
// other host is gone.
Socket accept_from(const Socket& listener);

// A connection of the same kind; empty, with the reason in `why`, if there is none before `end`.
Socket connect_to(const std::string& host, int port, Deadline end, std::string& why);

// Does the name mean this machine, whichever that is?
bool means_this_machine(const std::string& host);
// The address of this machine on the route to `host`, where process 0 is. Throws Error if the host
// has no address.
std::string address_towards(const std::string& host, int port);

std::string own_host_name();
// The same text for all processes of a running machine, whatever containers they are in.
std::string machine_id();

}  // namespace vig::train
