// A study makes a table or figure of the paper again on this machine, or one of our own: rows that
// are measured one by one, and a presentation of all rows as an image and a Markdown table with a
// verdict on each claim of the paper.
//
// A folder holds NAME.csv, to which every finished row is added at once, and at the end NAME.svg
// and NAME.md. After any interruption the same call measures the missing rows only.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vig/study/verdict.h"

namespace vig::study {

// The options of a study besides its name.
struct StudyOptions {
  int threads = 0;                        // 0: default_threads()
  double seconds = 0;                     // of each timing; 0: the study's own choice
  std::string data;                       // images to train with; empty: the study's own choice
  double epochs = 0;                      // of trained networks; 0: the study's own choice
  int seeds = 0;                          // to train each with; 0: the study's own choice
  std::vector<std::string> images = {};   // files and folders, for studies that only read them
  std::string model = "";                 // network of `attention`; empty: the default model
  std::vector<std::string> weights = {};  // "MODEL=FILE", for studies that take weights
  std::string baselines;          // folder in which bench/baselines is installed; empty: none
  std::vector<std::string> rows;  // keys, or parts of keys between "/"; empty: all
  bool force = false;             // begins anew instead of resuming
};

// What all rows of a CSV file have in common, but for portable ones, which have the settings in
// common. Timings of other conditions are not comparable.
struct Conditions {
  std::string cpu, simd, threads, version;
  std::string settings;  // options that change what is measured: "seconds=2"
  bool operator==(const Conditions&) const = default;
};

struct Column {
  enum class Kind { kText, kNumber };
  std::string name;
  Kind kind = Kind::kNumber;
};

struct Row {
  std::string key;                           // "vig_t/224": unique
  std::map<std::string, std::string> cells;  // by column; a column that is not there is empty
  std::string note;                          // why cells are empty, or what is special
  std::string date;                          // set when the row is stored
  Conditions where = {};                     // the same; without a processor: as of all rows

  std::string text(const std::string& column) const;
  std::optional<double> number(const std::string& column) const;  // nullopt: empty
  void set(const std::string& column, double value);              // six significant digits
  void set(const std::string& column, std::string value);
};

struct Results {
  Conditions conditions;
  std::vector<Row> rows;

  const Row* find(std::string_view key) const;  // nullptr: not measured
  // nullopt where the row or the cell is missing.
  std::optional<double> number(std::string_view key, const std::string& column) const;
};

// The measurement was asked to stop; what is finished is stored.
struct Stopped {};

// What a study may use while it measures a row.
struct StudyContext {
  StudyOptions options;
  std::filesystem::path folder;   // for the study's files; exists
  std::filesystem::path runs;     // for training runs, which studies share; made when needed
  std::filesystem::path program;  // `vig`, to be started for a row
  std::string version;
  // Asked often; false ends the work with what is finished.
  std::function<bool()> keep_going = [] { return true; };
  // Called several times a second while a row is measured.
  std::function<void()> tick = [] {};
};

struct Claim {
  std::string text;   // what the paper says, and where
  std::string paper;  // its figure
  std::string here;   // ours; empty where there is none
  Verdict verdict = Verdict::kUndecided;
  std::string remark = "";  // the reason
};

struct Presentation {
  std::string svg;
  std::string markdown;
  std::vector<Claim> claims;  // those in the Markdown
};

struct Study {
  std::string name;
  std::string sentence;   // what it measures
  std::string arguments;  // that its command needs, after the name: " --data cifar10.tar.gz"
  std::string duration;   // on two cores, in words: "15 minutes"
  std::vector<Column> columns;
  // The keys of all rows, in their order.
  std::function<std::vector<std::string>(const StudyOptions&)> keys;
  // Whether the row of a key, such as an accuracy, may be measured on any machine: one study
  // continues what another machine began.
  std::function<bool(const std::string&)> portable = [](const auto&) { return false; };
  // Throws Stopped when keep_going() says so, and an Error when the row cannot be measured.
  std::function<Row(const std::string& key, const StudyContext&)> measure;
  // A finished row in a few words, as progress.
  std::function<std::string(const Row&)> summary;
  // Rows may be missing.
  std::function<Presentation(const Results&)> present;
  // Options that change what is measured, as text; two texts that differ are two studies.
  std::function<std::string(const StudyOptions&)> settings = [](const auto&) { return ""; };
};

// Every study: those of the paper in its order, then ours.
const std::vector<Study>& studies();
// Throws a usage error that lists the names when there is no such study.
const Study& find_study(std::string_view name);

struct StudyProgress {
  // Before the first row: how many are to be measured, and how many are there already.
  std::function<void(size_t missing, size_t present)> begin = [](size_t, size_t) {};
  std::function<void(const Row&)> finished = [](const Row&) {};
  // After the last row, with what is written.
  std::function<void(const Presentation&)> end = [](const Presentation&) {};
};

// Measures what is missing, then writes the presentation. False when it was stopped before. Throws
// where the folder belongs to another machine or other options, or its CSV file is damaged.
bool run_study(const Study& study, const StudyContext& context, const StudyProgress& progress);

}  // namespace vig::study
