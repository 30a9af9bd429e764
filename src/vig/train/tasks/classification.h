// Classification: an image's target is its label, an int.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/data/dataset.h"
#include "vig/train/task.h"

namespace vig::train {

// Columns::train and Columns::val of the task.
enum TrainFigure { kTrainTop1 };
enum ValFigure { kValLoss, kValTop1, kValTop5, kValBalanced };

std::unique_ptr<Task> open_classification(const TrainOptions& options, const std::string& data,
                                          int processes);

// What the best network is chosen by: the share of all images, where every class has as many, or
// balanced accuracy (the mean of the classes' recalls), where large classes would hide small ones.
enum class BestBy { kTop1, kBalanced };
BestBy choose_best_by(const Dataset& validation);

// What p (1 - p) is multiplied with for the variance of that figure, p, by chance: 1 / n of n
// images, and of balanced accuracy the mean of the classes' 1 / n over the number of classes, as if
// all had the recall p.
double inverse_image_count(BestBy best_by, std::span<const int64_t> counts);

// The balanced accuracy is shown where the best network is chosen by it.
Columns classification_columns(BestBy best_by);

// Images of each class, by label.
std::vector<int64_t> class_counts(const Dataset& dataset);

// The mean of correct / images over the classes that have images.
double balanced_accuracy(std::span<const double> images, std::span<const double> correct);

// Why the training loss lies above the validation loss, naming what was on; empty if nothing was.
std::string classification_loss_note(const TrainOptions& options, double drop_path);

}  // namespace vig::train
