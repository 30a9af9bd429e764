// A CSV file of images and their labels, as spreadsheets and scripts write it (RFC 4180).
//
//   path,label            or path,label,split; the line may be missing
//   cat/1.jpg,cat
//   "a, b.jpg","a ""cat"""
//
// Fields are apart by commas; one in double quotes may hold commas, line breaks and doubled quotes.
// Lines end in LF or CRLF, empty ones do not count, and a UTF-8 mark may precede all. The split is
// train, val or test (data/dense_files.h knows their other names).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vig/data/data_report.h"

namespace vig {

constexpr size_t kMaxCsvBytes = size_t{256} << 20;
constexpr size_t kMaxCsvRows = size_t{1} << 24;
constexpr size_t kMaxCsvField = 4096;  // bytes: no path of the system is longer

struct CsvRow {
  std::string path;        // not empty, without zero bytes; parts joined by one '/'
  std::string_view split;  // "train", "val" or "test"; empty where the file has no such column
  uint32_t label = 0;      // in CsvList::labels
  uint32_t line = 0;       // where the row begins, from 1
};

struct CsvList {
  std::vector<CsvRow> rows;         // in the order of the file, every path once
  std::vector<std::string> labels;  // each once, as they occur in the file
  bool has_splits = false;
  DataReport problems;  // rows that are left out, by file and line
};

// A file whose name ends in .csv.
bool is_csv_list(const std::string& path);

// `name` stands for the file in messages. Throws Error when the first line has neither two nor
// three columns, a quote is not closed, or there are too many rows; any other invalid row
// is left out and named: of another number of columns, with an empty path or label, a zero byte, a
// label that is not UTF-8, an unknown split, text after a closing quote, or a path that an earlier
// row has named.
CsvList parse_csv_list(const std::string& name, std::string_view text);

}  // namespace vig
