// Rows are stored as they are measured; a study that ends anywhere is continued.
#include "vig/study/study.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/errors.h"
#include "support/files.h"
#include "vig/study/results.h"

namespace vig::study {
namespace {

using test::expect_error;
using test::read_file;
using test::TempDir;
using test::write_file;

constexpr int kRows = 4;
std::string key(int i) { return "net/" + std::to_string(i); }

// Squares. Row `deadly` ends the process while it is measured.
Study squares(int deadly = -1, std::vector<std::string>* measured = nullptr) {
  Study study;
  study.name = "squares";
  study.columns = {{"square"}, {"word", Column::Kind::kText}};
  study.keys = [](const StudyOptions&) {
    std::vector<std::string> keys;
    for (int i = 0; i < kRows; ++i) keys.push_back(key(i));
    return keys;
  };
  study.measure = [=](const std::string& name, const StudyContext&) {
    const int i = std::stoi(name.substr(4));
    if (i == deadly) ::_exit(9);
    if (measured != nullptr) measured->push_back(name);
    Row row;
    row.set("square", i * i);
    row.set("word", "with, comma and \"quote\"");
    return row;
  };
  study.summary = [](const Row& row) { return row.text("square"); };
  study.present = [](const Results& results) {
    Presentation shown{"<svg/>", "rows:", {}};
    for (const Row& row : results.rows) shown.markdown += " " + row.key;
    return shown;
  };
  study.settings = [](const StudyOptions& options) { return "data=" + options.data; };
  return study;
}

StudyContext context_in(const TempDir& folder) {
  StudyContext context;
  context.folder = folder / "out";
  context.options.threads = 2;
  context.version = "1";
  return context;
}

// In a process of its own, which the study may end.
int run_apart(const Study& study, const StudyContext& context) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 0;
    try {
      run_study(study, context, {});
    } catch (...) {
      status = 1;
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(Study, ContinuesAfterAKillAtEachRow) {
  for (int deadly = 0; deadly < kRows; ++deadly) {
    const TempDir folder;
    const StudyContext context = context_in(folder);
    EXPECT_EQ(run_apart(squares(deadly), context), 9);
    EXPECT_FALSE(std::filesystem::exists(context.folder / "squares.md"));
    if (deadly > 0) {
      const Results kept = read_results(context.folder / "squares.csv", squares().columns);
      EXPECT_EQ(kept.rows.size(), static_cast<size_t>(deadly));
    }
    std::vector<std::string> measured;
    size_t missing = 0, present = 0;
    StudyProgress progress;
    progress.begin = [&](size_t m, size_t p) { missing = m, present = p; };
    EXPECT_TRUE(run_study(squares(-1, &measured), context, progress));
    EXPECT_EQ(present, static_cast<size_t>(deadly));
    EXPECT_EQ(missing, static_cast<size_t>(kRows - deadly));
    ASSERT_EQ(measured.size(), missing);
    EXPECT_EQ(measured.front(), key(deadly));
    const Results all = read_results(context.folder / "squares.csv", squares().columns);
    ASSERT_EQ(all.rows.size(), static_cast<size_t>(kRows));
    for (int i = 0; i < kRows; ++i) {
      EXPECT_EQ(all.number(key(i), "square"), i * i);
      EXPECT_EQ(all.find(key(i))->text("word"), "with, comma and \"quote\"");
      EXPECT_EQ(all.find(key(i))->date.size(), std::string("2026-11-17").size());
    }
    EXPECT_EQ(read_file(context.folder / "squares.md"), "rows: net/0 net/1 net/2 net/3");
    EXPECT_EQ(read_file(context.folder / "squares.svg"), "<svg/>");
  }
}

TEST(Study, AStopKeepsWhatIsFinished) {
  const TempDir folder;
  StudyContext context = context_in(folder);
  int finished = 0;
  context.keep_going = [&] { return finished < 2; };
  StudyProgress progress;
  progress.finished = [&](const Row&) { ++finished; };
  EXPECT_FALSE(run_study(squares(), context, progress));
  EXPECT_EQ(read_results(context.folder / "squares.csv", squares().columns).rows.size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(context.folder / "squares.svg"));
  // A measurement that is stopped itself leaves no row.
  Study stopping = squares();
  stopping.measure = [](const std::string&, const StudyContext&) -> Row { throw Stopped(); };
  context.keep_going = [] { return true; };
  EXPECT_FALSE(run_study(stopping, context, {}));
  EXPECT_EQ(read_results(context.folder / "squares.csv", squares().columns).rows.size(), 2u);
}

TEST(Study, RowsByNameOrPart) {
  const TempDir folder;
  StudyContext context = context_in(folder);
  context.options.rows = {"3", "net/1"};
  EXPECT_TRUE(run_study(squares(), context, {}));
  EXPECT_EQ(read_file(context.folder / "squares.md"), "rows: net/1 net/3");
  context.options.rows = {"net"};
  EXPECT_TRUE(run_study(squares(), context, {}));
  EXPECT_EQ(read_file(context.folder / "squares.md"), "rows: net/0 net/1 net/2 net/3");
  context.options.rows = {"ne"};
  expect_error(ErrorCode::kUsage, {"--rows", "'ne'", "net/0"},
               [&] { run_study(squares(), context, {}); });
}

// Rows are sorted as soon as they are stored; the measured one is reported.
TEST(Study, EveryFinishedRowIsTold) {
  const TempDir folder;
  StudyContext context = context_in(folder);
  std::vector<std::string> reported;
  StudyProgress progress;
  progress.finished = [&](const Row& row) {
    reported.push_back(row.key + "=" + row.text("square"));
    const Results stored = read_results(context.folder / "squares.csv", squares().columns);
    EXPECT_NE(stored.find(row.key), nullptr) << "it is stored before";
  };
  context.options.rows = {"3"};
  EXPECT_TRUE(run_study(squares(), context, progress));
  context.options.rows = {};
  EXPECT_TRUE(run_study(squares(), context, progress));
  EXPECT_EQ(reported, (std::vector<std::string>{"net/3=9", "net/0=0", "net/1=1", "net/2=4"}));
}

// Rows of a study that has changed meanwhile are kept, behind its own.
TEST(Study, RowsThatItNoLongerHasComeLast) {
  const TempDir folder;
  const StudyContext context = context_in(folder);
  Study before = squares();
  before.keys = [](const StudyOptions&) { return std::vector<std::string>{"old/9", "net/2"}; };
  EXPECT_TRUE(run_study(before, context, {}));
  EXPECT_TRUE(run_study(squares(), context, {}));
  EXPECT_EQ(read_file(context.folder / "squares.md"), "rows: net/0 net/1 net/2 net/3 old/9");
}

TEST(Study, OtherConditionsAreRefused) {
  const TempDir folder;
  const StudyContext context = context_in(folder);
  run_study(squares(), context, {});
  const std::string before = read_file(context.folder / "squares.csv");
  const auto refused = [&](const StudyContext& other, const char* word) {
    expect_error(ErrorCode::kInput, {"squares.csv", word, "--force"},
                 [&] { run_study(squares(), other, {}); });
    EXPECT_EQ(read_file(context.folder / "squares.csv"), before);
  };
  StudyContext other = context;
  other.options.threads = 1;
  refused(other, "threads '2', not '1'");
  other = context;
  other.options.data = "elsewhere";
  refused(other, "options");
  other = context;
  other.version = "2";
  refused(other, "version");
  Results moved = read_results(context.folder / "squares.csv", squares().columns);
  moved.conditions.cpu = "another processor";
  for (Row& row : moved.rows) row.where = moved.conditions;
  write_file(context.folder / "squares.csv", results_csv(moved, squares().columns));
  expect_error(ErrorCode::kInput, {"another processor"},
               [&] { run_study(squares(), context, {}); });
  Conditions vectors = moved.conditions;
  vectors.simd = "other vectors";
  expect_error(ErrorCode::kInput, {"f.csv", "the instruction set", "not 'other vectors'"},
               [&] { check_same_conditions(moved.conditions, vectors, "f.csv"); });
  other = context;
  other.options.force = true;
  std::vector<std::string> measured;
  EXPECT_TRUE(run_study(squares(-1, &measured), other, {}));
  EXPECT_EQ(measured.size(), static_cast<size_t>(kRows));
  EXPECT_EQ(read_file(context.folder / "squares.csv"), before);
}

// Accuracies are continued on another machine, under the same options alone; each row keeps where
// it was measured.
TEST(Study, PortableRowsContinueAnywhere) {
  const TempDir folder;
  const StudyContext context = context_in(folder);
  Study portable = squares();
  portable.portable = [](const std::string&) { return true; };
  EXPECT_TRUE(run_study(portable, context, {}));
  Results moved = read_results(context.folder / "squares.csv", portable.columns);
  moved.rows.pop_back();
  for (Row& row : moved.rows) row.where.cpu = "another processor";
  const std::string stored = results_csv(moved, portable.columns);
  write_file(context.folder / "squares.csv", stored);
  EXPECT_TRUE(run_study(portable, context, {}));
  const std::string both = read_file(context.folder / "squares.csv");
  EXPECT_TRUE(both.starts_with(stored)) << both;
  EXPECT_GT(both.size(), stored.size());
  // A timing among them belongs to one machine.
  expect_error(ErrorCode::kInput, {"squares.csv", "other conditions"},
               [&] { read_results(context.folder / "squares.csv", portable.columns); });
  StudyContext other = context;
  other.options.data = "elsewhere";
  expect_error(ErrorCode::kInput, {"squares.csv", "options", "--force"},
               [&] { run_study(portable, other, {}); });
}

TEST(Study, DamageIsNamedWithItsLine) {
  const TempDir folder;
  const StudyContext context = context_in(folder);
  run_study(squares(), context, {});
  const std::string good = read_file(context.folder / "squares.csv");
  const auto damaged = [&](const std::string& text, std::initializer_list<std::string> words) {
    write_file(context.folder / "squares.csv", text);
    expect_error(ErrorCode::kInput, words, [&] { run_study(squares(), context, {}); });
    EXPECT_EQ(read_file(context.folder / "squares.csv"), text) << "it is left alone";
  };
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string text = good;
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), with);
  };
  damaged("", {"line 1", "empty"});
  damaged(replaced("square", "cube"), {"line 1", "cube"});
  damaged(replaced(",net/2,,4,", ",net/2,,four,"), {"line 4", "square", "four"});
  damaged(replaced(",net/3,", ",net/2,"), {"line 5", "net/2", "again"});
  damaged(replaced(",net/2,,4,", ",net/2,"), {"line 4", "cells"});
  damaged(good.substr(0, good.size() - 2), {"line 5", "quoted"});
  std::string last = good;
  last.replace(last.rfind(",2,1,data="), 3, ",7,");
  damaged(last, {"line 5", "other conditions"});
}

TEST(Csv, CellsOfEveryKind) {
  using Lines = std::vector<std::vector<std::string>>;
  EXPECT_EQ(parse_csv("", "f"), Lines{});
  EXPECT_EQ(parse_csv("a,b\n", "f"), (Lines{{"a", "b"}}));
  EXPECT_EQ(parse_csv("a,b", "f"), (Lines{{"a", "b"}}));
  EXPECT_EQ(parse_csv("a,\n,\n\nb", "f"), (Lines{{"a", ""}, {"", ""}, {""}, {"b"}}));
  EXPECT_EQ(parse_csv("a,", "f"), (Lines{{"a", ""}}));
  EXPECT_EQ(parse_csv("\"a,b\",\"c\nd\",\"\"\"e\"\"\"", "f"), (Lines{{"a,b", "c\nd", "\"e\""}}));
  expect_error(ErrorCode::kInput, {"f: line 2", "does not end"}, [] { parse_csv("a\n\"b", "f"); });
}

// What a table writes, it reads: also a first cell without a word, and a line end in a note.
TEST(Csv, ResultsAreReadAsTheyWereWritten) {
  const std::vector<Column> columns = {{"number"}, {"text", Column::Kind::kText}};
  Results results;
  results.conditions = {"", "a,b", "2", "1", "x"};
  Row row{.key = "k", .cells = {}, .note = "two\nlines, \"quoted\"", .date = "2026-01-02"};
  row.set("number", 1234567.0);
  row.set("text", "5 words");
  results.rows = {row, Row{.key = "empty", .cells = {}, .note = "\r", .date = "2026-01-03"}};
  const std::string text = results_csv(results, columns);
  const Results again = parse_results(text, columns, "f");
  EXPECT_EQ(results_csv(again, columns), text);
  EXPECT_EQ(again.conditions, results.conditions);
  ASSERT_EQ(again.rows.size(), 2u);
  EXPECT_EQ(again.rows[0].note, row.note);
  EXPECT_EQ(again.rows[0].date, "2026-01-02");
  EXPECT_EQ(again.number("k", "number"), 1.23457e6) << "six digits";
  EXPECT_EQ(again.number("k", "text"), std::nullopt);
  EXPECT_EQ(again.number("empty", "number"), std::nullopt);
  EXPECT_EQ(again.number("nowhere", "number"), std::nullopt);
  EXPECT_EQ(again.rows[1].note, "\r");
}

TEST(Study, OneProcessAtATime) {
  const TempDir folder;
  const StudyContext context = context_in(folder);
  Study outer = squares();
  bool tried = false;
  outer.measure = [&](const std::string& name, const StudyContext& inside) {
    if (!tried)
      expect_error(ErrorCode::kInput, {"another process"},
                   [&] { run_study(squares(), inside, {}); });
    tried = true;
    return squares().measure(name, inside);
  };
  EXPECT_TRUE(run_study(outer, context, {}));
  EXPECT_TRUE(tried);
}

TEST(Study, NamesAreKnown) {
  EXPECT_EQ(find_study("efficiency").name, "efficiency");
  expect_error(ErrorCode::kUsage, {"efficency", "did you mean 'efficiency'", "throughput"},
               [] { find_study("efficency"); });
  for (const Study& study : studies()) {
    EXPECT_FALSE(study.sentence.empty()) << study.name;
    EXPECT_FALSE(study.duration.empty()) << study.name;
    std::vector<std::string> keys = study.keys({});
    EXPECT_FALSE(keys.empty()) << study.name;
    std::ranges::sort(keys);
    EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end()) << study.name << ": a key twice";
  }
}

}  // namespace
}  // namespace vig::study
