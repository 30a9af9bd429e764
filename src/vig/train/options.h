// Everything a training run can be told. Each option is listed once, in visit_options: command
// line, record of the run, and comparison on resuming follow from there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vig/data/augment.h"
#include "vig/data/mixing.h"
#include "vig/image/decode.h"

namespace vig::train {

struct TrainOptions {
  std::string preset;  // where the numbers come from, for the record

  // What is trained.
  std::string model = "vig_t";                // a model of the zoo, or a weight file to go on from
  std::string arch;                           // what the file holds, where it does not say
  std::map<std::string, std::string> fields;  // --set, over the model's
  int size = 0;                               // of the input; 0: the model's own
  bool probe = false;                         // only the classifier learns

  // Data.
  double val_share = 0.1;  // of the training part, where the data names no validation part
  int64_t max_pixels = DecodeOptions().max_pixels;
  bool ignore_orientation = false;
  int loaders = 1;  // threads that decode and augment
  uint64_t seed = 0;
  AugmentOptions augment;
  MixOptions mix;

  // Length.
  double epochs = 300;
  int batch = 1024;       // of all processes and accumulated parts together
  int parts = 0;          // a batch is worked off in this many parts (gradient accumulation)
  int threads = 0;        // 0: all of the machine
  double eval_every = 1;  // epochs between validations

  // Optimiser.
  double lr = 1e-3;         // peak
  double lr_batch = 0;      // if not 0, lr is meant for this batch and scaled in proportion
  double min_lr = 5e-6;     // at the end of the cosine
  double warmup_lr = 5e-7;  // at the start
  double warmup_epochs = 20;
  double weight_decay = 0.05;  // not on vectors and biases
  double beta1 = 0.9, beta2 = 0.999, adam_eps = 1e-8;
  double clip = 5;         // largest norm of the gradient; 0: any
  double layer_decay = 1;  // factor of the learning rate from one block to the one before
  double ema = 0.9999;     // decay of the averaged weights; 0: none

  // The run.
  std::string device = "cpu";
  bool kernels = true;            // else LibTorch's own operations
  double checkpoint_minutes = 5;  // between checkpoints inside an epoch
  double group_timeout = 300;     // seconds to wait for a process that does not answer
};

// f(name, value, help) for each option.
template <class Options, class F>
void visit_options(Options& o, F&& f) {
  f("model", o.model, "Model of the zoo, or weight file to fine-tune");
  f("arch", o.arch, "The model that a weight file holds, when the file does not say");
  f("size", o.size, "Side of the input; 0: the model's own");
  f("probe", o.probe, "Train the classifier alone, on a frozen backbone");
  f("val-share", o.val_share, "Share of the training part kept for validation, if there is none");
  f("max-pixels", o.max_pixels, "Skip pictures with more pixels than this");
  f("ignore-orientation", o.ignore_orientation, "Take pictures as stored, not turned by EXIF");
  f("loaders", o.loaders, "Threads that decode and augment");
  f("seed", o.seed, "Of the fresh weights, the order and all augmentation");
  f("epochs", o.epochs, "Passes over the training part");
  f("batch", o.batch, "Pictures of a step, over all processes");
  f("parts", o.parts,
    "Passes in which a thread works off its pictures of a step; 0: as memory asks");
  f("threads", o.threads, "Threads of a process; 0: its share of the machine's");
  f("eval-every", o.eval_every, "Epochs between validations");
  f("lr", o.lr, "Peak learning rate");
  f("lr-batch", o.lr_batch, "Batch that the learning rates are meant for; 0: as they are");
  f("min-lr", o.min_lr, "Learning rate at the end");
  f("warmup-lr", o.warmup_lr, "Learning rate at the start");
  f("warmup-epochs", o.warmup_epochs, "Epochs of linear warm-up");
  f("weight-decay", o.weight_decay, "Decay of matrices; vectors and biases have none");
  f("beta1", o.beta1, "Decay of the gradient's mean");
  f("beta2", o.beta2, "Decay of its square's mean");
  f("adam-eps", o.adam_eps, "Added to the root of the latter");
  f("clip", o.clip, "Largest norm of the gradient; 0: any");
  f("layer-decay", o.layer_decay, "Factor of the learning rate from a block to the one before");
  f("ema", o.ema, "Decay of the averaged weights; 0: none");
  f("crop", o.augment.crop, "center, resized or padded");
  f("scale-min", o.augment.scale_min, "Smallest share of a picture's area in a resized crop");
  f("scale-max", o.augment.scale_max, "Largest share");
  f("ratio-min", o.augment.ratio_min, "Narrowest shape of a resized crop");
  f("ratio-max", o.augment.ratio_max, "Widest shape");
  f("pad", o.augment.pad, "Share of the side added around before a padded crop");
  f("flip", o.augment.flip, "Probability of mirroring");
  f("rand-augment", o.augment.rand_augment_ops, "RandAugment operations a picture");
  f("rand-augment-magnitude", o.augment.rand_augment_magnitude, "Their strength, 0 to 10");
  f("rand-augment-std", o.augment.rand_augment_deviation, "Standard deviation of it");
  f("rand-augment-probability", o.augment.rand_augment_probability, "Of each operation");
  f("color-jitter", o.augment.color_jitter, "Brightness, contrast and colour within 1 +- this");
  f("erase", o.augment.erase, "Probability of erasing a rectangle");
  f("cutout", o.augment.cutout, "Side of a square that is cut out, as a share of the input's");
  f("mixup", o.mix.mixup, "Alpha of mixup; 0: none");
  f("cutmix", o.mix.cutmix, "Alpha of cutmix; 0: none");
  f("mix-probability", o.mix.probability, "Of a batch to be mixed");
  f("mix-switch", o.mix.switch_probability, "Of cutmix where there is mixup, too");
  f("smoothing", o.mix.smoothing, "Label smoothing");
  f("device", o.device, "cpu, or cuda where LibTorch has it");
  f("kernels", o.kernels, "Our kernels; false: LibTorch's own operations");
  f("checkpoint-minutes", o.checkpoint_minutes, "Between checkpoints inside an epoch");
  f("group-timeout", o.group_timeout, "Seconds to wait for a process that does not answer");
}

// By the names above: for the command line, the run's record, and comparing both.
void set_option(TrainOptions& options, const std::string& name, const std::string& text);
std::map<std::string, std::string> option_texts(const TrainOptions& options);

// Raises a usage error naming the first option that makes no sense. Whether the device is there is
// another question, since a process that has asked cannot be forked any more.
void check_options(const TrainOptions& options);
void check_device(const std::string& device);

}  // namespace vig::train
