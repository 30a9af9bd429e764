// The file of --out: a line for each finished image, in their order, so that --resume continues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vig/cli/command_line.h"
#include "vig/cli/growing_file.h"

namespace vig::cli {

class ImageRun;

// Throws a usage error unless `out` is empty or ends in one of these, and where options exclude
// each other.
void check_results(const std::string& out, const std::vector<std::string>& endings, bool json,
                   bool resume);

// --resume
void add_resume(Command& command, bool& resume);

// --out of commands that write files for each image: a folder for these, FILE.jsonl for a line for
// each image, or both.
struct OutPaths {
  std::string folder;  // empty: none
  std::string lines;   // empty: none
};
constexpr const char* kNeedsFolder =
    "is processed in windows, whose files need a folder: add --out DIR";
// Without any path, files go to the current folder. Throws a usage error for two of a kind.
OutPaths split_out(const std::vector<std::string>& paths, bool json, bool resume);

// Lines of JSON objects that begin with {"file": NAME, ...}, or {"file": NAME, "error": ...}; or,
// where FILE ends in .csv, rows that begin with NAME and end with the error.
//
// A killed run leaves FILE.partial. What --resume finds there is kept, but for a last line that is
// half written; its images are not run again, but for the last one with a result: its new line
// must equal the old one, or the file was made by another model or with other options.
class ResultLines {
 public:
  // `header` is the first line of a CSV file, empty in other files. Throws Error where the file
  // holds other lines than these.
  ResultLines(const std::string& path, std::string header, bool resume);

  const std::string& path() const { return file_.path(); }
  const std::string& partial() const { return file_.partial(); }
  // Takes the images that are done out of the run, and counts them in its exit status.
  void leave_out_done(ImageRun& images);
  int64_t results() const { return results_; }  // lines without an error

  // Whether this is the image whose line is compared.
  bool is_last(const std::string& image) const { return last_ && last_->key == key_of(image); }

  // Without its line end; `good`: no error. Gives false where the line was there already.
  bool add(const std::string& image, std::string line, bool good);
  // Where the work was stopped, the file stays FILE.partial, and standard error says so.
  void finish(bool whole);

 private:
  struct Last {  // line with a result
    std::string key, line;
  };

  std::string key_of(const std::string& image) const;
  void read_lines();
  void take_line(std::string_view line, size_t number);

  const bool csv_;
  const std::string header_;  // with its line end
  GrowingFile file_;
  std::unordered_map<std::string, int> done_;  // how often an image is in the file
  int64_t results_ = 0, errors_ = 0;
  std::optional<Last> last_;
};

}  // namespace vig::cli
