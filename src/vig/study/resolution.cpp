// The paper's efficiency figure, (d): accuracy of networks that are trained at one size and tested
// at larger ones.
//
// Rows: MODEL/seedN/SIZE is a miniature trained here, MODEL/given/SIZE a network with weights of
// the user's. Columns: `size` (of the tested input), `parameters`, `top1` (share of the test
// images) and `images` (tested).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "vig/base/error.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/seeds.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

constexpr int kSeeds = 2;
// Images of 64 pixels have true detail up to there; what is larger shows larger objects.
constexpr std::array kSizes = {32, 48, 64, 96, 128};
constexpr std::array kGivenSizes = {224, 384, 512, 768, 1024};
const MiniatureTraining kTraining{.epochs = 15, .resized_crops = true, .test = "val"};

struct Contender {
  const char* model;
  const char* name;
};
constexpr std::array<Contender, 5> kContenders = {{
    {"vig_t", "ViG"},
    {"deit_t", "DeiT"},
    {"vim_t", "Vim"},
    {"vrwkv_t", "VRWKV"},
    {"resnet50", "ResNet"},
}};

std::string given_key(std::string_view model, int size) {
  return fmt::format("{}/given/{}", model, size);
}
std::string trained_key(std::string_view model, int seed, int size) {
  return seed_key(model, fmt::format("{}", size))(seed);
}

// The model and the file of "MODEL=FILE".
std::pair<std::string, std::string> parse_weights(const std::string& setting) {
  const size_t equals = setting.find('=');
  const std::string model = setting.substr(0, equals);
  if (equals == std::string::npos ||
      std::ranges::find(kContenders, model, &Contender::model) == kContenders.end()) {
    fail_usage(
        "--weights: expected MODEL=FILE with vig_t, deit_t, vim_t, vrwkv_t or resnet50, found '{}'",
        setting);
  }
  return {model, setting.substr(equals + 1)};
}

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (const std::string& setting : options.weights) {
    for (const int size : kGivenSizes) {
      keys.push_back(given_key(parse_weights(setting).first, size));
    }
  }
  if (!keys.empty()) return keys;
  for (int seed = 1; seed <= seed_count(options, kSeeds); ++seed) {
    for (const Contender& contender : kContenders) {
      for (const int size : kSizes) keys.push_back(trained_key(contender.model, seed, size));
    }
  }
  return keys;
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t first = key.find('/'), second = key.rfind('/');
  const std::string model = key.substr(0, first), what = key.substr(first + 1, second - first - 1);
  const int size = std::stoi(key.substr(second + 1));
  std::filesystem::path weights;
  if (what == "given") {
    for (const std::string& setting : context.options.weights) {
      if (const auto [name, file] = parse_weights(setting); name == model) weights = file;
    }
  } else {
    const int seed = std::stoi(what.substr(std::string_view("seed").size()));
    weights = trained_miniature(model, seed, kTraining, context) / "last.safetensors";
  }
  const Accuracy accuracy = measure_accuracy(weights, size, kTraining.test, context);
  Row row;
  row.set("size", fmt::format("{}", size));
  row.set("parameters", fmt::format("{}", file_parameters(weights)));
  row.set("top1", accuracy.top1);
  row.set("images", accuracy.images);
  return row;
}

std::string summary(const Row& row) {
  return fmt::format("{:.2f} % of {:.0f} test images", 100 * row.number("top1").value_or(0),
                     row.number("images").value_or(0));
}

bool has_given(const Results& results) {
  return std::ranges::any_of(
      results.rows, [](const Row& row) { return row.key.find("/given/") != std::string::npos; });
}

// ViG's lead over another network: of paired seeds, or of given weights with twice the standard
// error of the test images, each of which is right or wrong.
std::optional<Interval> lead(const Results& results, const char* other, int size, bool given) {
  if (!given) {
    const std::string rest = fmt::format("{}", size);
    return seed_difference(results, seed_key(other, rest), seed_key("vig_t", rest), "top1");
  }
  const Row* a = results.find(given_key("vig_t", size));
  const Row* b = results.find(given_key(other, size));
  if (a == nullptr || b == nullptr) return std::nullopt;
  const auto variance = [](const Row& row) {
    const double p = row.number("top1").value_or(0);
    return p * (1 - p) / std::max(1.0, row.number("images").value_or(1));
  };
  const double difference = a->number("top1").value_or(0) - b->number("top1").value_or(0);
  const double error = 2 * std::sqrt(variance(*a) + variance(*b));
  return Interval{difference, difference - error, difference + error};
}

// "outperforms X as the resolution increases": ahead at every size above the trained one.
Claim growth_claim(const Contender& other, const Results& results, bool given) {
  Claim claim{fmt::format("ViG outperforms {} in accuracy as the resolution increases (figure 4 d)",
                          other.name),
              "a curve", ""};
  std::vector<Verdict> verdicts;
  bool missing = false;
  const auto sizes = given ? std::span<const int>(kGivenSizes) : std::span<const int>(kSizes);
  for (const int size : sizes) {
    const auto found = lead(results, other.model, size, given);
    missing = missing || !found;
    if (found) {
      claim.here +=
          fmt::format("{}{:+.1f} at {}", claim.here.empty() ? "" : ", ", 100 * found->value, size);
    }
    if (size != sizes.front()) verdicts.push_back(has_sign(found, true));
  }
  claim.verdict = all_of(verdicts);
  if (claim.verdict == Verdict::kUndecided && !claim.here.empty()) {
    claim.remark = missing ? "sizes are missing" : "95 % intervals include both";
  }
  return claim;
}

std::vector<Claim> claims(const Results& results) {
  std::vector<Claim> all;
  const bool given = has_given(results);
  const int largest = given ? kGivenSizes.back() : kSizes.back();
  Claim sentence{
      "At 1024, 4.6 times the size of training, ViG-T has 20.7 % higher top-1 accuracy "
      "than DeiT-T (abstract)",
      "+20.7", ""};
  if (const auto found = lead(results, "deit_t", largest, given)) {
    sentence.here = fmt::format("{} at {}", points_text(found), largest);
    if (given) {
      sentence.verdict = verdict_of(agrees(100 * found->value, Printed{20.7, 0.1}));
    } else {
      sentence.verdict = has_sign(found, true);
      sentence.remark = "the direction; the number is that of other networks and images";
    }
  }
  all.push_back(sentence);
  for (const Contender& other : kContenders) {
    if (other.model != std::string_view("vig_t")) {
      all.push_back(growth_claim(other, results, given));
    }
  }
  return all;
}

Presentation present(const Results& results) {
  const bool given = has_given(results);
  const auto sizes = given ? std::span<const int>(kGivenSizes) : std::span<const int>(kSizes);
  std::vector<std::string> titles = {"network"};
  for (const int size : sizes) titles.push_back(fmt::format("{}:", size));
  std::vector<std::vector<std::string>> rows;
  ChartPanel panel;
  panel.title = results.conditions.settings;
  panel.x = {.label = "side of the test images", .scale = AxisScale::kLog, .ticks = {}};
  for (const int size : sizes) panel.x.ticks.push_back(size);
  panel.y = {.label = "top-1, %"};
  for (const Contender& contender : kContenders) {
    ChartSeries series{.name = contender.name, .points = {}};
    series.strong = contender.model == std::string_view("vig_t");
    std::vector<std::string> cells = {fmt::format("{} `{}`", contender.name, contender.model)};
    for (const int size : sizes) {
      const SeedKey key = given ? SeedKey([&](int seed) {
        return seed == 1 ? given_key(contender.model, size) : std::string();
      })
                                : seed_key(contender.model, fmt::format("{}", size));
      const std::vector<double> top1 = seed_values(results, key, "top1");
      cells.push_back(seeds_text(top1));
      double sum = 0;
      for (const double value : top1) sum += value;
      if (!top1.empty()) series.points.emplace_back(size, 100 * sum / double(top1.size()));
    }
    rows.push_back(cells);
    panel.series.push_back(series);
  }
  Presentation shown;
  shown.claims = claims(results);
  shown.markdown = conditions_sentence(results) + "\n";
  if (!given) shown.markdown += training_sentence(results.conditions.settings, kTraining);
  shown.markdown +=
      "\nTop-1 in percent by the side of the tested input. Position embeddings are resized. Images "
      "are 64 x 64, so sizes above that show larger objects and no more detail. The paper's figure "
      "has ViG-T, DeiT-T, Vim-T, VRWKV-T and ResNet50, trained at 224 and tested from 224 to 2048, "
      "and prints no figures. Leads are means over paired seeds with 95 % intervals of Student's t "
      "distribution.\n\n" +
      markdown_table(titles, rows) + "\n" + claims_markdown(shown.claims);
  Chart chart;
  chart.title = "Accuracy at larger sizes than the one of training";
  chart.subtitle =
      given ? std::string("given weights")
            : fmt::format("miniatures of about 0.3 M parameters, trained at {}", kTraining.size);
  chart.panels = {panel};
  chart.panel_width = 460;
  shown.svg = chart_svg(chart);
  return shown;
}

}  // namespace

Study resolution_study() {
  Study study;
  study.name = "resolution";
  study.sentence =
      "Accuracy of trained miniatures of ViG, DeiT, Vim, VRWKV and ResNet at larger test sizes.";
  study.arguments = " --data tiny-imagenet-100";
  study.duration = "5 hours";
  study.columns = {{"size"}, {"parameters"}, {"top1"}, {"images"}};
  study.keys = keys;
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.portable = [](const std::string&) { return true; };
  study.settings = [](const StudyOptions& options) {
    return options.weights.empty() ? training_settings(options, kTraining)
                                   : data_name(options) + " given weights";
  };
  return study;
}

}  // namespace vig::study
