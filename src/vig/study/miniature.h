// Small versions of the paper's networks, trained alike, for studies that need trained weights.
//
// All have about 300,000 parameters, take 32 x 32 images in patches of 4 x 4 (64 tokens) and are
// trained with one preset and budget. A run lies in RUNS/MODEL-seedN and resumes where it was
// stopped; studies that ask for the same network share it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

constexpr int kMiniatureSize = 32;

// The fields of the model's miniature, as --set takes them. Throws where the study has none of it.
std::vector<std::string> miniature_fields(const std::string& model);
// Parameters in a weight file.
int64_t file_parameters(const std::filesystem::path& weights);

// Passes over the training images: what the options say, or the budget of the tables in the tree.
double miniature_epochs(const StudyOptions& options);
// "data=cifar10.tar.gz epochs=2", for the settings of a study.
std::string data_and_epochs(const StudyOptions& options, double epochs);
std::string training_settings(const StudyOptions& options);  // of one with miniatures
// The preset and budget in a sentence, from these settings.
std::string training_sentence(const std::string& settings);

// Runs `vig train` with these arguments and the study's threads into RUNS/NAME, which it gives;
// what was done before is not done again. Its words go to RUNS/NAME.log.
std::filesystem::path run_training(const std::string& name, std::vector<std::string> arguments,
                                   const StudyContext& context);

// Trains the miniature of `model` with `vig train` where that is not done yet, and gives the file
// of its weights. Throws a usage error where the options name no data.
std::filesystem::path trained_miniature(const std::string& model, int seed,
                                        const StudyContext& context);

struct Accuracy {
  double top1 = 0;
  double images = 0;
};
// From the CSV file that `vig eval` writes of a classifier.
Accuracy read_accuracy(const std::filesystem::path& csv);
// Of a weight file on the test split of the options' data, by `vig eval` at this input size.
Accuracy measure_accuracy(const std::filesystem::path& weights, int size,
                          const StudyContext& context);

}  // namespace vig::study
