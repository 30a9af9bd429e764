// The paper's figure of effective receptive fields.
//
// Rows: MODEL/initial is the full-size network at 224 with initial weights, MODEL/given the same
// with weights that the user gave, MODEL/miniature-initial/SIZE and MODEL/miniature-trained/SIZE a
// miniature before and after training, at sizes far above that of training: beside them windows and
// stacks of convolutions are small. Columns: `size` of the input, `images` averaged over,
// `parameters`, `area20`, `area50` and `area99` (area of the centred square that holds so many
// percent of the gradient, as a share of the image), `outer_level` (mean gradient of a pixel
// outside of the centred half of the image, as a share of the mean gradient), `field`
// (ReceptiveField::text).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "vig/base/error.h"
#include "vig/study/child.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/receptive_field.h"
#include "vig/study/results.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr int kSize = 224;
constexpr std::array kMiniatureInputs = {128, 192};  // trained at 64, in patches of 4
constexpr int kSeed = 1;
const MiniatureTraining kTraining{.epochs = 15, .size = 64};

struct Contender {
  const char* model;
  const char* name;
};
constexpr std::array<Contender, 5> kContenders = {{
    {"resnet50", "ResNet50"},
    {"swin_t", "Swin-T"},
    {"deit_t", "DeiT-T"},
    {"gla_t_gated", "ViG-T, no locality"},
    {"vig_t", "ViG-T"},
}};

struct Kind {
  std::string_view key, name;
};
constexpr Kind kInitial{"initial", "initial"}, kGiven{"given", "given weights"};
constexpr Kind kBefore{"miniature-initial", "miniature, initial"};
constexpr Kind kAfter{"miniature-trained", "miniature, trained"};
constexpr std::array kKinds = {kInitial, kGiven, kBefore, kAfter};

// `size`: of a miniature's input; the others have one size.
std::string key_of(const char* model, const Kind& kind, int size = kMiniatureInputs.back()) {
  const bool miniature = kind.key.starts_with("miniature");
  return miniature ? fmt::format("{}/{}/{}", model, kind.key, size)
                   : fmt::format("{}/{}", model, kind.key);
}

// The file of "NAME=FILE" for this model; empty where none is given.
std::string given_weights(const std::string& model, const StudyOptions& options) {
  for (const std::string& setting : options.weights) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (equals == std::string::npos ||
        std::ranges::find(kContenders, name, &Contender::model) == kContenders.end()) {
      fail_usage(
          "--weights: expected MODEL=FILE with resnet50, swin_t, deit_t, gla_t_gated or vig_t, "
          "found '{}'",
          setting);
    }
    if (name == model) return setting.substr(equals + 1);
  }
  return "";
}

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (const Kind& kind : kKinds) {
    for (const Contender& contender : kContenders) {
      if (kind.key == kGiven.key && given_weights(contender.model, options).empty()) continue;
      if (!kind.key.starts_with("miniature")) {
        keys.push_back(key_of(contender.model, kind));
      } else if (!options.data.empty()) {
        for (const int size : kMiniatureInputs) {
          keys.push_back(key_of(contender.model, kind, size));
        }
      }
    }
  }
  return keys;
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t slash = key.find('/');
  const std::string model = key.substr(0, slash);
  std::string kind = key.substr(slash + 1);
  if (context.options.images.empty()) {
    fail_usage("--images: expected image files or folders to average over, found nothing");
  }
  const fs::path csv = context.folder / "field.csv", log = context.folder / "field.log";
  std::vector<std::string> arguments = {"receptive-field"};
  int size = kSize;
  if (const size_t end = kind.find('/'); end != std::string::npos) {
    size = std::stoi(kind.substr(end + 1));
    kind.resize(end);
  }
  if (kind == kInitial.key || kind == kGiven.key) {
    arguments.push_back(kind == kInitial.key ? model : given_weights(model, context.options));
  } else if (kind == kBefore.key) {
    arguments.push_back(model);
    for (const std::string& field : miniature_fields(model)) {
      arguments.insert(arguments.end(), {"--set", field});
    }
    const std::string own = fmt::format("image_size={}", kTraining.size);
    arguments.insert(arguments.end(), {"--set", own});
  } else {
    arguments.push_back(
        (trained_miniature(model, kSeed, kTraining, context) / "last.safetensors").string());
  }
  std::error_code ignored;
  fs::remove(log, ignored);
  arguments.insert(
      arguments.end(),
      {"--size", fmt::format("{}", size), "--seed", fmt::format("{}", kSeed), "--threads",
       fmt::format("{}", context.options.threads), "--csv", csv.string(), "--"});
  arguments.insert(arguments.end(), context.options.images.begin(), context.options.images.end());
  run_vig(arguments, log, context);
  const auto lines = parse_csv(read_text(csv), csv.string());
  if (lines.size() != 2 || lines[0].size() != lines[1].size()) {
    fail("{}: expected one result, found {} lines", csv.string(), lines.size());
  }
  Row row;
  for (size_t i = 0; i < lines[0].size(); ++i) {
    if (lines[0][i] != "model" && lines[0][i] != "weights") row.set(lines[0][i], lines[1][i]);
  }
  fs::remove(csv, ignored);
  fs::remove(log, ignored);
  return row;
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.{}f} %", 100 * *share, *share < 0.0995 ? 1 : 0) : "";
}

std::string summary(const Row& row) {
  return fmt::format("99 % of the gradient in {} of the image", percent(row.number("area99")));
}

// The kind of rows that the claims are about: weights of the user's, else trained miniatures.
Kind best_kind(const Results& results) {
  for (const Kind& kind : {kGiven, kAfter}) {
    if (std::ranges::all_of(kContenders, [&](const Contender& contender) {
          return results.find(key_of(contender.model, kind)) != nullptr;
        })) {
      return kind;
    }
  }
  return kAfter;
}

// "exhibits a global ERF like DeiT": the outer half of the image counts at least half as much as
// it does for DeiT. "fail": less than half.
Claim coverage_claim(const char* model, const char* sentence, bool global, const Kind& kind,
                     const Results& results) {
  Claim claim{sentence, "an image", ""};
  const auto own = results.number(key_of(model, kind), "outer_level");
  const auto deit = results.number(key_of("deit_t", kind), "outer_level");
  if (!own || !deit) return claim;
  claim.here = fmt::format("outer level {:.2f}, DeiT's {:.2f}", *own, *deit);
  claim.verdict = verdict_of((*own >= 0.5 * *deit) == global);
  return claim;
}

std::vector<Claim> claims(const Results& results) {
  const Kind kind = best_kind(results);
  std::vector<Claim> all = {
      coverage_claim("vig_t", "ViG exhibits a global receptive field like DeiT", true, kind,
                     results),
      coverage_claim("gla_t_gated", "So does BidGLA with the direction-wise gate, without locality",
                     true, kind, results),
      coverage_claim("resnet50", "The convolutional ResNet50 fails to", false, kind, results),
      coverage_claim("swin_t", "The window-attention-based Swin fails to", false, kind, results)};
  Claim locality{"Locality injection enlarges the area of intensive response", "an image", ""};
  const auto with = results.number(key_of("vig_t", kind), "area50");
  const auto without = results.number(key_of("gla_t_gated", kind), "area50");
  if (with && without) {
    locality.here =
        fmt::format("50 % of the gradient in {}, without {}", percent(with), percent(without));
    locality.verdict = verdict_of(*with > *without);
  }
  all.push_back(locality);
  for (Claim& claim : all) {
    if (claim.here.empty()) {
      claim.remark =
          "networks with trained weights are not measured yet; initial weights decide "
          "nothing";
      continue;
    }
    claim.remark = fmt::format("rows \"{}\"", kind.name);
    if (kind.key == kAfter.key) {
      claim.remark += fmt::format(", {0} x {0} pixels, trained at {1} x {1}, one seed",
                                  kMiniatureInputs.back(), kTraining.size);
    }
  }
  return all;
}

Presentation present(const Results& results) {
  std::vector<FieldRow> sheet;
  std::vector<std::vector<std::string>> table;
  std::string images;
  for (const Kind& kind : kKinds) {
    const bool miniature = kind.key.starts_with("miniature");
    for (const int size : kMiniatureInputs) {
      if (!miniature && size != kMiniatureInputs.back()) continue;
      FieldRow fields{miniature ? fmt::format("{}, {}", kind.name, size) : std::string(kind.name),
                      {}};
      for (const Contender& contender : kContenders) {
        const Row* row = results.find(key_of(contender.model, kind, size));
        if (row == nullptr) continue;
        fields.tiles.push_back(
            {contender.name,
             fmt::format("99 % in {}, outer {:.2f}", percent(row->number("area99")),
                         row->number("outer_level").value_or(0)),
             field_image(row->text("field"))});
        table.push_back({fmt::format("{}, {}", contender.name, kind.name), row->text("size"),
                         percent(row->number("area20")), percent(row->number("area50")),
                         percent(row->number("area99")),
                         fmt::format("{:.3f}", row->number("outer_level").value_or(0))});
        images = row->text("images");
      }
      if (!fields.tiles.empty()) sheet.push_back(std::move(fields));
    }
  }
  Presentation shown;
  shown.claims = claims(results);
  shown.svg = field_sheet_svg(
      "Effective receptive fields: gradient of the centre of the last feature map", sheet);
  shown.markdown =
      conditions_sentence(results) +
      fmt::format(
          "\nThe absolute gradient of the centre of the last feature map, summed over its "
          "positive channels, "
          "by the pixels, averaged over {} images. The columns say in which share of the image "
          "the centred square lies that holds 20, 50 and 99 % of the gradient; the outer level is "
          "the mean gradient of a pixel outside of the centred half of the image as a share of "
          "the mean gradient, 1 for a field that is the same everywhere. The paper shows images "
          "of networks trained on ImageNet and no figures in numbers. A field counts as global "
          "here when its "
          "outer level is at least half of DeiT's.\n\n",
          images.empty() ? "no" : images) +
      markdown_table({"network", "input:", "20 % in:", "50 % in:", "99 % in:", "outer level:"},
                     table) +
      "\n" + claims_markdown(shown.claims);
  return shown;
}

}  // namespace

Study erf_study() {
  Study study;
  study.name = "erf";
  study.sentence =
      "Effective receptive fields of ViG with and without locality, DeiT, Swin and ResNet50.";
  study.arguments = " --data tiny-imagenet-100 --images photos";
  study.duration = "4 hours";
  study.columns = {{"parameters"}, {"size"},   {"images"},      {"area20"},
                   {"area50"},     {"area99"}, {"outer_level"}, {"field", Column::Kind::kText}};
  study.keys = keys;
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.portable = [](const std::string&) { return true; };
  study.settings = [](const StudyOptions& options) {
    return options.data.empty() ? "" : training_settings(options, kTraining);
  };
  return study;
}

}  // namespace vig::study
