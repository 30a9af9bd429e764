// Small versions of the paper's networks, trained alike, for studies that need trained weights.
//
// All have about 300,000 parameters, take 32 x 32 images in patches of 4 x 4 (64 tokens) and are
// trained with one preset and budget. A run resumes where it was stopped; studies that ask for the
// same network, data and budget share it.
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

// How a study trains its miniatures.
struct MiniatureTraining {
  double epochs = 4;  // where the options name none
  int size = kMiniatureSize;
  bool resized_crops = false;  // else crops of the padded image
  double eval_every = 0;       // epochs from one validation to the next; 0: at the end
  std::string test = "test";   // the split of the data that is tested
};

// "cifar10.tar.gz" of the options' data.
std::string data_name(const StudyOptions& options);
// "data=cifar10.tar.gz epochs=2", for the settings of a study.
std::string data_and_epochs(const StudyOptions& options, double epochs);
std::string training_settings(const StudyOptions& options, const MiniatureTraining& training);
// The preset and budget in a sentence, with these settings.
std::string training_sentence(const std::string& settings, const MiniatureTraining& training);

// Runs `vig train` with these arguments and the study's threads into RUNS/NAME, which it gives;
// what was done before is not done again. Its words go to RUNS/NAME.log.
std::filesystem::path run_training(const std::string& name, std::vector<std::string> arguments,
                                   const StudyContext& context);

// Trains the miniature of `model` with `vig train` where that is not done yet, and gives the folder
// of the run, whose last.safetensors are its weights. Throws a usage error where the options name
// no data.
std::filesystem::path trained_miniature(const std::string& model, int seed,
                                        const MiniatureTraining& training,
                                        const StudyContext& context);

struct Accuracy {
  double top1 = 0;
  double images = 0;
};
// Of a weight file on a split of the options' data, by `vig eval` at this input size; 0: the
// network's own.
Accuracy measure_accuracy(const std::filesystem::path& weights, int size, const std::string& split,
                          const StudyContext& context);

}  // namespace vig::study
