// The paper's figure of effective receptive fields.
//
// Rows: MODEL/initial is the full-size network at 224 with initial weights, MODEL/given the same
// with weights that the user gave, MODEL/miniature-initial and MODEL/miniature-trained a miniature
// before and after training. Columns: `size` of the input, `images` averaged over, `parameters`,
// `area20`, `area50` and `area99` (area of the centred square that holds so many percent of the
// gradient, as a share of the image), `outer_level` (mean gradient of a pixel outside of the
// centred half of the image, as a share of the mean gradient), `field` (ReceptiveField::text).
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
constexpr int kMiniatureInput = 64;  // 16 x 16 tokens, twice the size of training
constexpr int kSeed = 1;

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

std::string key_of(const char* model, const Kind& kind) {
  return fmt::format("{}/{}", model, kind.key);
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
      const bool miniature = std::string_view(kind.key).starts_with("miniature");
      if (miniature && options.data.empty()) continue;
      if (kind.key == kGiven.key && given_weights(contender.model, options).empty()) continue;
      keys.push_back(key_of(contender.model, kind));
    }
  }
  return keys;
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t slash = key.find('/');
  const std::string model = key.substr(0, slash), kind = key.substr(slash + 1);
  if (context.options.images.empty()) {
    fail_usage("--images: expected image files or folders to average over, found nothing");
  }
  const fs::path csv = context.folder / "field.csv", log = context.folder / "field.log";
  std::vector<std::string> arguments = {"receptive-field"};
  int size = kMiniatureInput;
  if (kind == kInitial.key || kind == kGiven.key) {
    size = kSize;
    arguments.push_back(kind == kInitial.key ? model : given_weights(model, context.options));
  } else if (kind == kBefore.key) {
    arguments.push_back(model);
    for (const std::string& field : miniature_fields(model)) {
      arguments.insert(arguments.end(), {"--set", field});
    }
    const std::string own = fmt::format("image_size={}", kMiniatureSize);
    arguments.insert(arguments.end(), {"--set", own});
  } else {
    arguments.push_back(trained_miniature(model, kSeed, context).string());
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

// The kind of rows that the claims are about: weights of the user's, else trained miniatures, else
// initial weights.
Kind best_kind(const Results& results) {
  for (const Kind& kind : {kGiven, kAfter}) {
    if (std::ranges::all_of(kContenders, [&](const Contender& contender) {
          return results.find(key_of(contender.model, kind)) != nullptr;
        })) {
      return kind;
    }
  }
  return kInitial;
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
    if (claim.here.empty()) continue;
    claim.remark = fmt::format("rows \"{}\"", kind.name);
    // No window or stack of convolutions is small beside an image of 64 pixels.
    if (kind.key == kAfter.key) {
      claim.remark += fmt::format(", {0} x {0} pixels, a short training", kMiniatureInput);
    }
  }
  return all;
}

Presentation present(const Results& results) {
  std::vector<FieldRow> sheet;
  std::vector<std::vector<std::string>> table;
  std::string images;
  for (const Kind& kind : kKinds) {
    FieldRow fields{std::string(kind.name), {}};
    for (const Contender& contender : kContenders) {
      const Row* row = results.find(key_of(contender.model, kind));
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
  Presentation shown;
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
      "\n" + claims_markdown(claims(results));
  return shown;
}

}  // namespace

Study erf_study() {
  Study study;
  study.name = "erf";
  study.sentence =
      "Effective receptive fields of ViG with and without locality, DeiT, Swin and ResNet50.";
  study.arguments = " --data cifar10.tar.gz --images photos";
  study.duration = "5 minutes";
  study.columns = {{"parameters"}, {"size"},   {"images"},      {"area20"},
                   {"area50"},     {"area99"}, {"outer_level"}, {"field", Column::Kind::kText}};
  study.keys = keys;
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.settings = [](const StudyOptions& options) {
    return options.data.empty() ? "" : training_settings(options);
  };
  return study;
}

}  // namespace vig::study
