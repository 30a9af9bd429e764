#include "vig/data/dense_files.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <limits>
#include <mutex>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/inside_folder.h"
#include "vig/base/mapped_file.h"
#include "vig/base/thread_pool.h"
#include "vig/image/decode.h"

namespace vig {

std::string_view split_of(std::string_view name) {
  if (name == "train" || name == "training") return "train";
  if (name == "val" || name == "valid" || name == "validation") return "val";
  return name == "test" || name == "testing" ? "test" : "";
}

bool is_hidden_name(std::string_view name) {
  const auto hidden = [](char before, char c) { return before == '/' && c == '.'; };
  return name.starts_with('.') || std::ranges::adjacent_find(name, hidden) != name.end() ||
         name.starts_with("__MACOSX/");
}

std::string_view folder_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == name.npos ? std::string_view() : name.substr(0, slash + 1);
}

std::string_view without_extension(std::string_view name) {
  const size_t folder = folder_of(name).size();
  const size_t dot = name.rfind('.');
  return dot == name.npos || dot <= folder ? name : name.substr(0, dot);
}

std::string_view base_name(std::string_view name) {
  return without_extension(name.substr(folder_of(name).size()));
}

FilesByName::FilesByName(std::shared_ptr<const Archive> archive) : archive_(std::move(archive)) {
  const std::vector<std::string>& names = archive_->files();
  if (names.size() >= std::numeric_limits<uint32_t>::max()) {
    fail("{}: {} files, expected fewer than 2^32", archive_->path(), names.size());
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(archive_->path(), ignored)) {
    real_folder_ = std::filesystem::canonical(archive_->path(), ignored);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_hidden_name(names[i])) continue;
    files_.push_back(static_cast<uint32_t>(i));
    by_name_.emplace(names[i], static_cast<uint32_t>(i));
  }
}

std::optional<uint32_t> FilesByName::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return {};
  return found->second;
}

bool FilesByName::leads_out(uint32_t file) const {
  if (real_folder_.empty()) return false;
  const std::string path = archive_->file_path(file);
  std::error_code ignored;  // a link to nothing shows when it is read
  return std::filesystem::exists(path, ignored) && !lies_inside(path, real_folder_);
}

std::string FilesByName::why_refused(uint32_t file) const {
  return fmt::format(
      "{}: a link out of {}, expected a file inside of it; nothing outside is opened",
      archive_->location(file), archive_->path());
}

std::vector<std::string> FilesByName::roots() const {
  constexpr size_t kMost = 8;
  std::vector<std::string> roots = {""};
  if (files_.empty()) return roots;
  const std::string_view first = name(files_.front());
  while (roots.size() < kMost) {
    const size_t slash = first.find('/', roots.back().size());
    if (slash == first.npos) break;
    const std::string_view next = first.substr(0, slash + 1);
    if (!std::ranges::all_of(files_, [&](uint32_t f) { return name(f).starts_with(next); })) break;
    roots.emplace_back(next);
  }
  return roots;
}

SharedText read_text(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  return {file, {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()}};
}

SharedText read_text(const FilesByName& files, uint32_t file) {
  const std::shared_ptr<const Archive>& archive = files.archive();
  if (files.leads_out(file)) fail("{}", files.why_refused(file));
  std::error_code ignored;
  if (std::filesystem::is_directory(archive->path(), ignored)) {
    return read_text((std::filesystem::path(archive->path()) / archive->files()[file]).string());
  }
  struct Held {
    std::shared_ptr<const Archive> archive;
    std::vector<uint8_t> scratch;
  };
  const auto held = std::make_shared<Held>(Held{archive, {}});
  const std::span<const uint8_t> bytes = archive->read(file, held->scratch);
  return {held, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

ImageSource image_source(const Archive& archive, uint32_t file) {
  const std::string location = archive.location(file);
  // What is compressed shows what it is before all of it is unpacked.
  uint8_t start[64];
  if (const size_t size = archive.read_start(file, start)) check_signature({start, size}, location);
  const FileSize size = archive.size(file);
  return {location, size.bytes, size.copied,
          [&archive, file](std::vector<uint8_t>& scratch) { return archive.read(file, scratch); }};
}

std::vector<size_t> examine_samples(size_t count, const CheckOptions& options,
                                    const std::function<void(size_t)>& examine,
                                    DataReport& report) {
  std::vector<std::string> problems(count);
  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  std::exception_ptr other;  // than Error
  auto work = [&](int worker) {
    for (size_t i; (i = next++) < count;) {
      try {
        examine(i);
      } catch (const Error& error) {
        problems[i] = error.what();
      } catch (...) {
        const std::lock_guard lock(mutex);
        other = std::current_exception();
        next = count;
      }
      ++done;
      if (worker == 0 && options.progress && !options.progress(done, count)) next = count;
    }
  };
  ThreadPool pool(std::max(1, options.threads));
  pool.run(work);
  if (other) std::rethrow_exception(other);
  std::vector<size_t> good;
  for (size_t i = 0; i < count; ++i) {
    if (problems[i].empty()) {
      good.push_back(i);
    } else {
      report.add(std::move(problems[i]));
    }
  }
  return good;
}

std::vector<std::string> choose_splits(const std::vector<std::string>& wanted,
                                       const std::vector<std::string>& there, bool first_only) {
  std::vector<std::string> chosen;
  for (const std::string& name : wanted) {
    if (name != "train" && name != "val" && name != "test") {
      fail_usage("[data] the split {} is asked for, expected train, val, test", name);
    }
    if (std::ranges::find(there, name) == there.end()) continue;
    if (std::ranges::find(chosen, name) != chosen.end()) continue;
    chosen.push_back(name);
    if (first_only) break;
  }
  return chosen;
}

}  // namespace vig
