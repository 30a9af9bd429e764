#include "vig/cli/result_lines.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/base/printable.h"
#include "vig/cli/image_command.h"
#include "vig/cli/output.h"

namespace vig::cli {
namespace {

std::string with_line_end(std::string header) {
  if (!header.empty()) header += '\n';
  return header;
}

// Where the first record of a file ends, its line end included; npos: it does not.
size_t record_end(std::string_view text, bool csv) {
  if (!csv) {
    const size_t end = text.find('\n');
    return end == std::string_view::npos ? end : end + 1;
  }
  bool quoted = false;  // a quoted cell may hold line breaks
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) return i + 1;
  }
  return std::string_view::npos;
}

// The first cell as it stands there; npos as its end: there is no second one.
size_t first_cell_end(std::string_view row) {
  bool quoted = false;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '"') quoted = !quoted;
    if (row[i] == ',' && !quoted) return i;
  }
  return std::string_view::npos;
}

// Behind the quote that ends a string of JSON, of which `begin` is the first character.
size_t string_end(std::string_view line, size_t begin) {
  for (size_t i = begin; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

void add_resume(Command& command, bool& resume) {
  command.flag("--resume", resume,
               "Continue the file of --out: skip the images that it has, and keep their lines");
}

void check_results(const std::string& out, const std::vector<std::string>& endings, bool json,
                   bool resume) {
  if (out.empty()) {
    if (resume) fail_usage("--resume needs --out FILE, whose images it skips");
    return;
  }
  const auto is_ending = [&](const std::string& ending) { return out.ends_with(ending); };
  if (std::ranges::none_of(endings, is_ending)) {
    fail_usage("--out {}, expected a file that ends in {}", out, fmt::join(endings, " or "));
  }
  if (json) fail_usage("--json and --out exclude each other: --out FILE.jsonl writes JSON");
}

OutPaths split_out(const std::vector<std::string>& paths, bool json, bool resume) {
  OutPaths out;
  for (const std::string& path : paths) {
    const bool lines = path.ends_with(".jsonl");
    for (const char* ending : {".csv", ".npy", ".parquet", ".json"}) {
      if (path.ends_with(ending)) {
        fail_usage("--out {}, expected a folder or a file that ends in .jsonl", path);
      }
    }
    std::string& to = lines ? out.lines : out.folder;
    if (!to.empty()) {
      fail_usage("--out {} and --out {}, expected one {}", to, path, lines ? "file" : "folder");
    }
    to = path;
  }
  if (paths.empty()) out.folder = ".";
  check_results(out.lines, {".jsonl"}, json, resume);
  return out;
}

ResultLines::ResultLines(const std::string& path, std::string header, bool resume)
    : csv_(path.ends_with(".csv")), header_(with_line_end(std::move(header))), file_(path, resume) {
  read_lines();
}

std::string ResultLines::key_of(const std::string& image) const {
  return csv_ ? csv_quoted(image) : json_text(Json(image));
}

void ResultLines::read_lines() {
  if (file_.size() == 0) return;
  const auto old = MappedFile::open(file_.partial());
  std::string_view text(reinterpret_cast<const char*>(old->bytes().data()), old->bytes().size());
  const size_t all = text.size();
  // A header that is half written is written again.
  const bool headed = text.starts_with(header_);
  if (!headed && !std::string_view(header_).starts_with(text)) {
    fail("{}: does not begin with the columns of this command, {}; give another --out", partial(),
         printable(header_, 200));
  }
  text.remove_prefix(headed ? header_.size() : text.size());
  uint64_t kept = headed ? header_.size() : 0;
  for (size_t number = header_.empty() ? 1 : 2;; ++number) {
    const size_t end = record_end(text, csv_);
    if (end == std::string_view::npos) break;
    take_line(text.substr(0, end - 1), number);
    text.remove_prefix(end);
    kept += end;
  }
  if (kept != all) file_.cut(kept);
}

void ResultLines::take_line(std::string_view line, size_t number) {
  std::string key;
  bool good = false;
  if (csv_) {
    const size_t end = first_cell_end(line);
    if (end == std::string_view::npos) {
      fail("{}: row {} has no cells beside \"{}\", expected a row of this command", partial(),
           number, printable(line, 200));
    }
    key = line.substr(0, end);
    good = line.ends_with(',');  // the error, last, is empty
  } else {
    constexpr std::string_view kBegin = "{\"file\":\"", kError = ",\"error\":";
    const size_t end = string_end(line, kBegin.size());
    if (!line.starts_with(kBegin) || end == std::string_view::npos) {
      fail("{}: line {} is \"{}\", expected {{\"file\": ...}} as this command writes it", partial(),
           number, printable(line, 200));
    }
    key = line.substr(kBegin.size() - 1, end - (kBegin.size() - 1));
    good = !line.substr(end).starts_with(kError);
  }
  ++done_[key];
  if (good) {
    last_ = Last{std::move(key), std::string(line)};
    ++results_;
  } else {
    ++errors_;
  }
}

void ResultLines::leave_out_done(ImageRun& images) {
  std::unordered_map<std::string, int> done = std::move(done_);
  if (last_) --done[last_->key];  // it is run again
  images.leave_out(
      [&](const std::string& image) {
        const auto found = done.find(key_of(image));
        return found != done.end() && found->second-- > 0;
      },
      results_ - (last_ ? 1 : 0), errors_);
}

bool ResultLines::add(const std::string& image, std::string line, bool good) {
  if (is_last(image)) {
    const Last last = *std::exchange(last_, std::nullopt);
    if (last.line == line) return false;
    fail(
        "{}: its line of {} is \"{}\", but this command gives \"{}\": it was made by another "
        "model, "
        "with other options or of another image; remove it, or give another --out",
        partial(), printable(image, 4096), printable(last.line, 200), printable(line, 200));
  }
  line += '\n';
  file_.append(file_.size() == 0 ? header_ + line : line);
  results_ += good ? 1 : 0;
  return true;
}

void ResultLines::finish(bool whole) {
  if (whole) {
    if (file_.size() == 0) file_.append(header_);
    return file_.commit();
  }
  if (file_.size() == 0) return;
  complain(fmt::format("what was finished is in {}; the same command with --resume continues",
                       partial()));
}

}  // namespace vig::cli
