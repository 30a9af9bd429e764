#include "vig/study/study.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "vig/base/error.h"
#include "vig/base/folder_lock.h"
#include "vig/base/suggestion.h"
#include "vig/runtime/machine.h"
#include "vig/study/results.h"
#include "vig/weights/atomic_file.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

Conditions conditions_of(const Study& study, const StudyContext& context) {
  return {machine_cpu(), machine_simd(), fmt::format("{}", context.options.threads),
          context.version, study.settings(context.options)};
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

// The key itself, or one of its parts: "vig_t" and "224" of "vig_t/224".
bool is_part(std::string_view key, std::string_view word) {
  if (key == word) return true;
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('/', begin), key.size());
    if (key.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

// Throws a usage error for a word that selects nothing.
std::vector<std::string> selected(const Study& study, const StudyOptions& options) {
  std::vector<std::string> keys = study.keys(options);
  if (options.rows.empty()) return keys;
  for (const std::string& word : options.rows) {
    if (std::ranges::none_of(keys, [&](const auto& key) { return is_part(key, word); })) {
      fail_usage("--rows: the study {} has no row '{}'; its rows are {}", study.name, word,
                 fmt::join(keys, ", "));
    }
  }
  std::erase_if(keys, [&](const std::string& key) {
    return std::ranges::none_of(options.rows, [&](const auto& w) { return is_part(key, w); });
  });
  return keys;
}

// In the order of the study; rows that it no longer has, or not on this machine, come last.
void sort_rows(const Study& study, const StudyOptions& options, Results& results) {
  const std::vector<std::string> keys = study.keys(options);
  std::ranges::stable_sort(results.rows, {}, [&](const Row& row) {
    return std::ranges::find(keys, row.key) - keys.begin();
  });
}

void write_text(const fs::path& file, const std::string& text) {
  AtomicFile(file.string()).commit_text(text);
}

}  // namespace

const Study& find_study(std::string_view name) {
  std::vector<std::string> names;
  for (const Study& study : studies()) {
    if (study.name == name) return study;
    names.push_back(study.name);
  }
  fail_usage("there is no study '{}'{}; the studies are {}", name, suggestion(name, names),
             fmt::join(names, ", "));
}

bool run_study(const Study& study, const StudyContext& context, const StudyProgress& progress) {
  std::error_code error;
  const auto file = [&](const char* suffix) { return context.folder / (study.name + suffix); };
  // A bad request leaves no folder behind.
  if (!fs::exists(file(".csv"), error)) selected(study, context.options);
  fs::create_directories(context.folder, error);
  if (error) fail("{}: cannot make the folder: {}", context.folder.string(), error.message());
  FolderLock lock;
  lock.take(context.folder.string(), "measuring");
  Results results;
  const Conditions now = conditions_of(study, context);
  if (!context.options.force && fs::exists(file(".csv"))) {
    results = read_results(file(".csv"), study.columns, study.portable);
    if (!results.rows.empty()) {
      const bool all = std::ranges::all_of(results.rows,
                                           [&](const Row& row) { return study.portable(row.key); });
      Conditions stored = results.conditions;
      if (all) {
        stored = now;
        stored.settings = results.conditions.settings;
      }
      check_same_conditions(stored, now, file(".csv").string());
    }
  }
  results.conditions = now;
  const std::vector<std::string> all = selected(study, context.options);
  std::vector<std::string> missing = all;
  std::erase_if(missing, [&](const auto& key) { return results.find(key) != nullptr; });
  progress.begin(missing.size(), all.size() - missing.size());
  for (const std::string& key : missing) {
    if (!context.keep_going()) return false;
    try {
      Row row = study.measure(key, context);
      row.key = key;
      row.date = today();
      row.where = now;
      results.rows.push_back(std::move(row));
    } catch (const Stopped&) {
      return false;
    }
    const Row finished = results.rows.back();
    sort_rows(study, context.options, results);
    write_text(file(".csv"), results_csv(results, study.columns));
    progress.finished(finished);
  }
  const Presentation shown = study.present(results);
  write_text(file(".csv"), results_csv(results, study.columns));
  write_text(file(".svg"), shown.svg);
  write_text(file(".md"), shown.markdown);
  progress.end(shown);
  return true;
}

}  // namespace vig::study
