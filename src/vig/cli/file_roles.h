// Output paths must differ from each other and from all inputs, even through links, relative names
// and images found in a folder or by a pattern.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/cli/find_images.h"

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
  // The images of a command, which outlive this. Those that were listed are regular files and no
  // links, so that an output can be one of them only by its name or by a hard link of its own.
  void read_images(const std::vector<std::string>& files, const std::vector<ImageOrigin>& origins);
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
    bool listed = false;  // a regular file and no link
  };
  // What is written over files that are there.
  struct Written {
    std::map<Identity, std::string> names;  // "--out x.csv"
    std::set<std::string> file_names;       // the last parts of their paths, links followed
    bool linked = false;                    // one has several names

    // Whether a regular file of this path, which is no link, may be one of them.
    bool may_be(std::string_view path) const;
  };

  static std::optional<Identity> identify(const std::string& path);
  void check_outputs() const;
  Written find_written() const;
  static void check_input(const Written& written, const std::string& what, const std::string& path);

  std::vector<Output> outputs_;
  std::map<Identity, Output> many_;  // those of write_one_of that are there
  std::vector<Input> inputs_;
  const std::vector<std::string>* images_ = nullptr;
  const std::vector<ImageOrigin>* origins_ = nullptr;
};

}  // namespace vig::cli
