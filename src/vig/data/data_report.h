// Problems of the data, found before training starts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace vig {

// What data is, by its files.
enum class DataKind {
  kClasses,     // images with a class each, by folders or in a list: data/dataset.h
  kLabelPairs,  // images with label maps: data/label_pairs.h
  kCoco,        // images with objects in COCO's JSON: data/coco.h
};

// A .json file is COCO's, a .txt file a list of pairs, a .csv file one of images with a class
// each; a folder or an archive is what the files in it make it, folders of classes where nothing
// else shows. Throws Error when the path cannot be opened.
DataKind recognise_data(const std::string& path);

struct DataReport {
  size_t samples = 0;  // that are left
  size_t left_out = 0;
  // Sentences that name file and location: of samples that are left out, and of annotations that
  // are. At most kMostShown, then only counted.
  std::vector<std::string> problems;
  size_t problem_count = 0;

  static constexpr size_t kMostShown = 100;
  void add(std::string problem);
  void add(const DataReport& other);  // the problems
};

struct CheckOptions {
  int threads = 1;
  // Read every file: sizes of images, labels of label maps. Off: only what listing and parsing
  // show.
  bool read_files = true;
  // Called now and then by one thread at a time with the samples done; false ends the check early,
  // with unchecked samples left in.
  std::function<bool(size_t done, size_t total)> progress = {};
};

}  // namespace vig
