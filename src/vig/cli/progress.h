// Progress of long work: a bar on a terminal, a line every few seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace vig::cli {

class Progress {
 public:
  // `unit` in the plural: "images".
  Progress(int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(int64_t count);
  // Takes the bar away, so that something else can be printed; the next advance brings it back.
  void hide();

 private:
  std::string status() const;

  int64_t total_;
  int64_t done_ = 0;
  std::string unit_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// 75 is "1:15", 4000 is "1:06:40".
std::string clock_text(double seconds);

}  // namespace vig::cli
