// Processes that come together where anybody may connect.
#include "vig/train/processes/arrival.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>

#include "support/errors.h"
#include "train/together.h"

namespace vig::test {
namespace {

using train::Arrival;
using train::Reception;
using train::Socket;
using train::Station;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Arrival arrival_of(int rank, int size, int seconds = 60) {
  return {rank,
          size,
          "vig-train 1",
          {fmt::format("host{}", rank), "machine", "f::"},
          std::chrono::seconds(seconds),
          nullptr};
}

Socket connect_here(const Reception& reception) {
  std::string why;
  return train::connect_to("127.0.0.1", reception.port(), Clock::now() + milliseconds(5000), why);
}

Socket say(const Reception& reception, const std::string& text) {
  Socket socket = connect_here(reception);
  EXPECT_TRUE(socket.write(text, Clock::now() + milliseconds(5000)));
  return socket;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// They are still there when all have arrived.
TEST(Arrival, ForeignConnectionsBlockNobody) {
  Reception reception("127.0.0.1", 0);
  std::vector<Socket> strangers;
  for (const char* text : {"", "hello 1 3 host", "GET / HTTP/1.1\r\n\r\n", "hello x y z w v u\n",
                           "hello 7 3 host1 machine f:: vig-train 1\n"}) {
    strangers.push_back(say(reception, text));
  }
  strangers.push_back(say(reception, std::string(60'000, 'x')));
  const auto start = Clock::now();
  const std::vector<std::string> sentences = run_all(3, [&](int rank) {
    std::vector<Station> stations;
    if (rank == 0) {
      stations = reception.receive(arrival_of(0, 3));
      reception.admit("word");
    } else {
      const train::Admission admission =
          train::arrive("127.0.0.1", reception.port(), arrival_of(rank, 3));
      EXPECT_EQ(admission.word, "word");
      stations = admission.stations;
    }
    ASSERT_EQ(stations.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(stations[static_cast<size_t>(i)].host, fmt::format("host{}", i));
      EXPECT_EQ(stations[static_cast<size_t>(i)].processors, "f::");
    }
  });
  EXPECT_EQ(sentences, std::vector<std::string>(3));
  EXPECT_LT(seconds_since(start), 30);
}

TEST(Arrival, OneThatEndsMeanwhileIsNamedByAll) {
  Reception reception("127.0.0.1", 0);
  const auto start = Clock::now();
  const std::vector<std::string> sentences = run_all(3, [&](int rank) {
    if (rank == 0) {
      reception.receive(arrival_of(0, 4));
    } else if (rank == 1) {
      train::arrive("127.0.0.1", reception.port(), arrival_of(1, 4));
    } else {
      say(reception, "hello 2 4 host2 machine f:: vig-train 1\n");  // and its connection closes
    }
  });
  EXPECT_EQ(sentences[0], "process 2 of 4 (host2) ended before all were connected");
  EXPECT_TRUE(sentences[1] == sentences[0] || sentences[1].find("no response") == 0)
      << sentences[1];
  EXPECT_LT(seconds_since(start), 50);
}

TEST(Arrival, TheFirstThatEndsIsNamed) {
  auto reception = std::make_unique<Reception>("127.0.0.1", 0);
  const int port = reception->port();
  std::promise<void> waiting;
  auto first = std::async(std::launch::async, [&] {
    Arrival arrival = arrival_of(0, 3);
    int turns = 0;
    arrival.check = [&] {
      if (++turns > 3) throw std::runtime_error("killed");
    };
    EXPECT_THROW(reception->receive(arrival), std::runtime_error);
    reception.reset();
  });
  const std::string sentence =
      run_all(1, [&](int) { train::arrive("127.0.0.1", port, arrival_of(1, 3, 3)); })[0];
  first.get();
  EXPECT_TRUE(sentence.find("process 0 (127.0.0.1) ended") == 0 ||
              sentence.find("no response") == 0)
      << sentence;
}

TEST(Arrival, WhoIsMissingIsNamed) {
  Reception reception("127.0.0.1", 0);
  const Socket stranger = say(reception, "x\n");
  const Socket here = say(reception, "hello 1 4 host1 machine f:: vig-train 1\n");
  expect_error(ErrorCode::kInput, {"process 2 of 4 and 1 more did not connect within 1 s"},
               [&] { reception.receive(arrival_of(0, 4, 1)); });
  std::string reply;
  const auto end = Clock::now() + milliseconds(5000);
  while (here.read_into(reply) && Clock::now() < end) continue;
  EXPECT_NE(reply.find("no process 2 of 4"), std::string::npos) << reply;
}

TEST(Arrival, APortBelongsToOneMeeting) {
  const Reception first("127.0.0.1", 0);
  expect_error(ErrorCode::kInput, {"cannot listen", "in use"},
               [&] { Reception("127.0.0.1", first.port()); });
  // The others find who has it instead: one that says something else, or nothing.
  Reception reception("127.0.0.1", 0);
  const auto other = train::listen_on("127.0.0.1", 0);
  auto greeting = std::async(std::launch::async, [&] {
    Socket guest;
    while (!guest) guest = train::accept_from(other);
    guest.write("SSH-2.0-OpenSSH_9.2\r\n", Clock::now() + milliseconds(5000));
    return guest;
  });
  expect_error(ErrorCode::kInput, {"another program listens on 127.0.0.1 port"},
               [&] { train::arrive("127.0.0.1", train::port_of(other), arrival_of(1, 2)); });
}

}  // namespace
}  // namespace vig::test
