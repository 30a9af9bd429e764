// Output paths must differ from each other and from all inputs, even through links, relative names
// and images found in a folder or by a pattern.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vig::cli {

class FileRoles {
 public:
  // Both are cheap and throw nothing. Nothing of a file is read, and it need not be there.
  // `option` is how the output was asked for: "--out". An empty path is no output. `stoppable`:
  // work that was stopped leaves its partial_name().
  void write(const std::string& option, const std::string& path, bool stoppable = true);
  // One of many outputs that have names of their own, by construction.
  void write_one_of(const std::string& option, const std::string& path);
  // `what` stands in the message: "image". "-" is standard input.
  void read(std::string what, std::string path);
  // Of a folder all images, lists and annotations below, and what a run keeps there; of a CSV
  // file also the images that it names; of any other file the file itself.
  void read_data(const std::string& path);

  // Throws a usage error that names both. To be called before the first byte is read.
  void check() const;

 private:
  using Identity = std::pair<dev_t, ino_t>;
  struct Output {
    std::string option, path;
    std::optional<Identity> identity;  // of the file that is there
    std::string location;              // where it would be made: its folder without links, its name
  };
  struct Input {
    std::string what, path;
  };

  static std::optional<Identity> identify(const std::string& path);
  void check_outputs() const;

  std::vector<Output> outputs_;
  std::map<Identity, std::string> many_;  // those of write_one_of that are there
  std::vector<Input> inputs_;
};

}  // namespace vig::cli
