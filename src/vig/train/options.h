// All options of a training run. Each option is listed once, in visit_options: command
// line, record of the run, and comparison on resuming follow from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vig/base/recipe.h"
#include "vig/data/augment.h"
#include "vig/data/mixup.h"
#include "vig/data/view.h"
#include "vig/image/decode.h"

namespace vig::train {

struct TrainOptions {
  std::string preset;  // where the values come from, for the record

  // What is trained.
  std::string task;             // classify, segment or detect; empty: what the data is for
  std::string model = "vig_t";  // a model of the zoo, or a weight file to fine-tune
  std::string arch;             // what the file holds, where it does not say
  std::map<std::string, std::string> fields;  // --set, over the model's
  int size = 0;                               // of the input; 0: the model's own
  // Of a run that resumes: the preprocessing that it has used so far, instead of what follows from
  // model and size.
  std::optional<Recipe> recipe = {};
  bool probe = false;  // only the classifier learns

  // Data.
  double val_share = 0.1;  // of the training split, where the data has no validation split
  int64_t max_pixels = DecodeOptions().max_pixels;
  bool ignore_orientation = false;
  int loaders = 1;  // threads that decode and augment
  uint64_t seed = 0;
  AugmentOptions augment;
  MixupOptions mix;
  ViewOptions view;  // of segmentation and detection, which take `flip` from `augment`
  std::string sampling = "natural";    // or balanced
  std::string class_weights = "none";  // balanced, or a number for each class
  int preview = 0;                     // training images to write with their targets drawn

  // Length.
  double epochs = 300;
  int64_t steps = 0;      // of the optimiser; if not 0, instead of epochs
  int batch = 1024;       // of all processes and accumulated passes together
  int accumulate = 0;     // passes of a thread over its images of a step; 0: as memory asks
  int threads = 0;        // 0: default_threads()
  double eval_every = 1;  // epochs between validations
  int patience = 0;       // validations without a better network that end the run; 0: none do
  int norm_group = 16;    // images whose batch norm statistics are taken together
  int loss_group = 0;     // detection: images whose losses are normalised together; 0: norm_group
  // Detection: boxes of an image that the two stages learn from.
  int proposal_samples = 256, box_samples = 512;

  // Optimiser.
  double lr = 1e-3;     // peak
  double lr_batch = 0;  // if not 0, lr is meant for this batch and scaled in proportion
  std::string schedule = "cosine";
  std::string lr_drops;     // epochs from which on the rate is a tenth of before
  double min_lr = 5e-6;     // at the end of the schedule
  double warmup_lr = 5e-7;  // at the start
  double warmup_epochs = 20;
  int warmup_steps = 0;        // if not 0, instead of epochs
  double weight_decay = 0.05;  // not on vectors and biases
  double beta1 = 0.9, beta2 = 0.999, adam_eps = 1e-8;
  double clip = 5;         // largest norm of the gradient; 0: any
  double layer_decay = 1;  // factor of the learning rate from one block to the one before
  double ema = 0.9999;     // decay of the averaged weights; 0: none

  // The run.
  std::string device = "cpu";
  bool kernels = true;            // else LibTorch's own operations
  double checkpoint_minutes = 5;  // between checkpoints inside an epoch
  double group_timeout = 300;     // seconds to wait for a process that does not respond
};

// f(name, value, help) for each option.
template <class Options, class F>
void visit_options(Options& o, F&& f) {
  f("task", o.task, "Task: classify, segment or detect; empty: determined by the data");
  f("model", o.model,
    "Model of the zoo to train, weight file to fine-tune, a model that comes with vig (default, "
    "segment, detect), or fresh: random weights, also for few images, which otherwise begin with "
    "the model that comes with vig for their task");
  f("arch", o.arch, "Model name, for a weight file that does not contain it");
  f("size", o.size, "Height and width of the input in pixels; 0: the model's own");
  f("probe", o.probe, "Linear probe: train the classifier on a frozen backbone");
  f("val-share", o.val_share,
    "Share of the training split held out for validation if there is no validation split");
  f("max-pixels", o.max_pixels, "Skip images with more pixels than this");
  f("ignore-orientation", o.ignore_orientation, "Ignore the orientation stored in EXIF");
  f("loaders", o.loaders, "Threads that decode and augment images");
  f("seed", o.seed, "Seed of the initial weights, the order of images and all augmentation");
  f("sampling", o.sampling,
    "Classification: natural, every image once an epoch; or balanced, every class equally often");
  f("class-weights", o.class_weights,
    "Classification and segmentation: weights of the classes in the loss: none, balanced, or "
    "numbers such as 1,2.5, one for each class in their order");
  f("preview", o.preview,
    "Preview: number of training images to write to the run's folder as network input, with labels "
    "or objects drawn");
  f("epochs", o.epochs, "Passes over the training split");
  f("steps", o.steps,
    "Length of the run in optimiser steps, instead of --epochs; 0: by --epochs, which also sets it "
    "to 0 where it is given");
  f("batch", o.batch, "Images of one optimiser step, over all processes");
  f("accumulate", o.accumulate,
    "Gradient accumulation: passes of a thread over its share of a batch; 0: as memory allows");
  f("threads", o.threads,
    "Threads of each process; 0: its share of the processors that affinity and CPU quotas allow");
  f("eval-every", o.eval_every, "Epochs from one validation to the next");
  f("patience", o.patience,
    "Early stopping: end the run after this many validations without a better network; 0: never");
  f("norm-group", o.norm_group, "Images that share batch norm statistics");
  f("loss-group", o.loss_group,
    "Detection: images that share the normalisers of the losses; it divides --norm-group or is a "
    "multiple of it; 0: --norm-group");
  f("proposal-samples", o.proposal_samples,
    "Detection: anchors per image in the loss of the proposals");
  f("box-samples", o.box_samples,
    "Detection: boxes per image in the losses of the box and mask heads");
  f("lr", o.lr, "Peak learning rate");
  f("lr-batch", o.lr_batch,
    "Batch size that the learning rates are given for, scaled to the real one; 0: not scaled");
  f("schedule", o.schedule,
    "Learning rate after the warm-up: cosine; linear, to --min-lr at the end; or steps, see "
    "--lr-drops");
  f("lr-drops", o.lr_drops,
    "With --schedule steps: epochs, such as 8,11, at which the learning rate falls to a tenth");
  f("min-lr", o.min_lr, "Learning rate at the end of the schedule");
  f("warmup-lr", o.warmup_lr, "Learning rate at the start of the warm-up");
  f("warmup-epochs", o.warmup_epochs, "Epochs of linear warm-up");
  f("warmup-steps", o.warmup_steps,
    "Optimiser steps of linear warm-up, instead of epochs; 0: by epochs");
  f("weight-decay", o.weight_decay, "Weight decay of matrices; biases and norms have none");
  f("beta1", o.beta1, "AdamW beta1: decay of the mean of gradients");
  f("beta2", o.beta2, "AdamW beta2: decay of the mean of squared gradients");
  f("adam-eps", o.adam_eps, "AdamW epsilon");
  f("clip", o.clip, "Clip the norm of the gradient to this; 0: no clipping");
  f("layer-decay", o.layer_decay,
    "Layer-wise decay: factor of the learning rate from each block to the one before it");
  f("ema", o.ema, "Decay of the exponential moving average of the weights; 0: no average");
  f("crop", o.augment.crop, "Crop of a training image: center, resized or padded");
  f("scale-min", o.augment.scale_min, "Smallest area of a resized crop, as a share of the image");
  f("scale-max", o.augment.scale_max, "Largest area of a resized crop, as a share of the image");
  f("ratio-min", o.augment.ratio_min, "Smallest width / height of a resized crop");
  f("ratio-max", o.augment.ratio_max, "Largest width / height of a resized crop");
  f("pad", o.augment.pad,
    "Padding on each side before a padded crop, as a share of the input size");
  f("flip", o.augment.flip, "Probability of a horizontal flip");
  f("rand-augment", o.augment.rand_augment_ops, "RandAugment operations on each image; 0: none");
  f("rand-augment-magnitude", o.augment.rand_augment_magnitude, "RandAugment magnitude, 0 to 10");
  f("rand-augment-std", o.augment.rand_augment_deviation,
    "Standard deviation of the RandAugment magnitude");
  f("rand-augment-probability", o.augment.rand_augment_probability,
    "Probability of each RandAugment operation");
  f("color-jitter", o.augment.color_jitter,
    "Colour jitter: largest change of brightness, contrast and saturation; 0: none");
  f("erase", o.augment.erase, "Probability of random erasing");
  f("cutout", o.augment.cutout,
    "Side of the square that cutout removes, as a share of the input size; 0: none");
  f("resize-min", o.view.resize_min,
    "Segmentation and detection: smallest size of an image, as a factor of the usual one");
  f("resize-max", o.view.resize_max, "Segmentation and detection: largest size of an image");
  f("flip-vertical", o.view.flip_vertical,
    "Segmentation and detection: probability of a vertical flip");
  f("transpose", o.view.transpose,
    "Segmentation and detection: probability of exchanging rows and columns; 0.5 here and for both "
    "flips gives all turns by 90 degrees");
  f("photometric", o.view.photometric,
    "Segmentation and detection: distort brightness, contrast, saturation and hue");
  f("one-class-most", o.view.one_class_most,
    "Segmentation: draw a crop again if one class covers this share of its labelled pixels");
  f("mixup", o.mix.mixup, "Mixup alpha; 0: no mixup");
  f("cutmix", o.mix.cutmix, "CutMix alpha; 0: no CutMix");
  f("mix-probability", o.mix.probability, "Probability that mixup or CutMix is applied to a batch");
  f("mix-switch", o.mix.switch_probability, "Probability of CutMix when both are enabled");
  f("smoothing", o.mix.smoothing, "Label smoothing");
  f("device", o.device, "Device to train on: cpu, or cuda where LibTorch supports it");
  f("kernels", o.kernels, "Use our own kernels; false: LibTorch's operations");
  f("checkpoint-minutes", o.checkpoint_minutes, "Minutes from one checkpoint to the next");
  f("group-timeout", o.group_timeout, "Seconds to wait for a process that does not respond");
}

// By the names above: for the command line, the run's record, and comparing both. `epochs` sets
// `steps` to 0, since the length of a run is either.
void set_option(TrainOptions& options, const std::string& name, const std::string& text);
std::map<std::string, std::string> option_texts(const TrainOptions& options);

// The values of lr_drops. Throws a usage error where they are none.
std::vector<double> lr_drop_epochs(const TrainOptions& options);

// The values of class_weights; empty where it is none or balanced. Throws a usage error where they
// are none.
std::vector<double> class_weight_list(const TrainOptions& options);

// loss_group, or norm_group in its place.
int loss_group(const TrainOptions& options);

// Throws a usage error naming the first option that makes no sense. check_device is
// apart from it, since a process that has called it cannot be forked any more.
void check_options(const TrainOptions& options);
void check_device(const std::string& device);

}  // namespace vig::train
