#include "vig/train/run_record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <type_traits>

#include "vig/base/error.h"
#include "vig/base/json.h"
#include "vig/weights/model_info.h"
#include "vig/weights/strict_json.h"

namespace vig::train {
namespace {

constexpr std::string_view kFieldPrefix = "model.";
constexpr const char* kPreprocessing = "preprocessing";
constexpr const char* kDealt = "images_dealt";  // together to processes, if fewer than norm-group
constexpr const char* kProcessChanges = "process_changes";

std::optional<double> as_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "0.1" is a number, "2,4,2" a list of them, "true" a truth value, all else a text.
Json by_form(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  Json list = Json::array();
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    if (!as_number(part).has_value()) return text;
    try {
      list.push_back(parse_strict_json("", part));
    } catch (const Error&) {  // JSON knows no inf
      return text;
    }
    start = end + 1;
  }
  return list.size() == 1 ? list[0] : list;
}

double number_of(const Texts& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() ? 0 : as_number(found->second).value_or(0);
}

// Those of the options asked for that older versions did not have, and what they did.
void add_later_options(Texts& stored, const Texts& asked) {
  const Texts defaults = option_texts(TrainOptions());
  for (const char* name :
       {"task", "norm-group", "proposal-samples", "box-samples", "schedule", "lr-drops",
        "warmup-steps", "resize-min", "resize-max", "flip-vertical", "transpose", "photometric",
        "one-class-most", "sampling", "class-weights", "patience", "steps", "loss-group"}) {
    if (asked.contains(name)) stored.try_emplace(name, defaults.at(name));
  }
}

// Older versions wrote 0 where the input had the model's own size, and no preprocessing.
void add_real_size(Texts& stored, const Texts& asked) {
  if (stored.contains(kPreprocessing) || !asked.contains(kPreprocessing)) return;
  stored[kPreprocessing] = asked.at(kPreprocessing);
  if (stored["size"] == "0") stored["size"] = asked.at("size");
}

// More patience, 0 being endless, changes nothing that has happened: the run stays the one it is.
void allow_patience(Texts& stored, const Texts& asked) {
  if (!stored.contains("patience") || !asked.contains("patience")) return;
  const double old_patience = number_of(stored, "patience"),
               patience = number_of(asked, "patience");
  const bool more = patience == 0 || (old_patience != 0 && patience > old_patience);
  if (more) stored["patience"] = asked.at("patience");
}

// More or fewer processes change the result by rounding alone, and threads go with them. What is
// known of earlier changes is kept: "STEP:BEFORE,...".
void allow_processes(Texts& stored, Texts& asked, int64_t step) {
  if (!stored.contains("processes") || !asked.contains("processes")) return;
  // Older versions do not say how images were dealt; with as many processes it is the same.
  const bool same = stored.at("processes") == asked.at("processes");
  if (same && !stored.contains(kDealt) && asked.contains(kDealt)) {
    stored[kDealt] = asked.at(kDealt);
  }
  if (same) return;
  std::string& changes = asked[kProcessChanges];
  changes += fmt::format("{}{}:{}", changes.empty() ? "" : ",", step, stored.at("processes"));
  stored[kProcessChanges] = changes;
  stored["processes"] = asked.at("processes");
  if (asked.contains("threads")) stored["threads"] = asked.at("threads");
}

// For the record: [{"step": 300, "from": 3, "to": 2}].
Json process_changes(const Texts& identity) {
  const std::string text = identity.at(kProcessChanges);
  std::vector<std::pair<std::string, std::string>> changes;  // step, processes before it
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    const size_t colon = text.find(':', start);
    if (colon < end) {
      changes.emplace_back(text.substr(start, colon - start),
                           text.substr(colon + 1, end - colon - 1));
    }
    start = end + 1;
  }
  changes.emplace_back("", identity.at("processes"));
  Json list = Json::array();
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    list.push_back({{"step", by_form(changes[i].first)},
                    {"from", by_form(changes[i].second)},
                    {"to", by_form(changes[i + 1].second)}});
  }
  return list;
}

bool is_zoo_name(const std::string& name) {
  return std::ranges::find(model_zoo(), name, &ModelSpec::name) != model_zoo().end();
}

// What the best network is worth that so few images have chosen.
std::string few_images_note(const Task& task, size_t images) {
  const std::string start = fmt::format("{} image{} to validate on (below {}): ", images,
                                        images == 1 ? "" : "s", kFewValidation);
  const std::vector<double> halves(task.columns().val.size(), 0.5);
  const double most = task.best_error(halves);
  if (!(most > 0)) {
    return start + fmt::format(
                       "differences in {} may be chance; compare the best and the last "
                       "network on other images",
                       task.best_by());
  }
  return start + fmt::format(
                     "{} has a standard error of up to {:.1f} points; the best network is "
                     "the last one within it of the highest",
                     task.best_by(), 100 * most);
}

}  // namespace

Texts run_identity(const RunFacts& facts) {
  Texts texts = option_texts(facts.options);
  for (const char* name : {"checkpoint-minutes", "group-timeout", "loaders", "preview"})
    texts.erase(name);
  for (const auto& [field, value] : model_fields(facts.spec)) {
    texts[std::string(kFieldPrefix) + field] = value;
  }
  texts[kPreprocessing] = encode_recipe(facts.spec.recipe);
  texts["processes"] = std::to_string(facts.processes);
  if (facts.images_dealt > 0) texts[kDealt] = std::to_string(facts.images_dealt);
  texts["train_images"] = std::to_string(facts.data.train->size());
  texts["train_names"] = facts.data.train_mark;
  if (facts.data.val != nullptr) texts["val_names"] = facts.data.val_mark;
  texts["steps_per_epoch"] = std::to_string(facts.steps_per_epoch);
  texts["best_by"] = facts.best_by;
  if (!facts.options.preset.empty()) texts["preset"] = facts.options.preset;
  return texts;
}

RunSummary summarise(const RunFacts& facts, Task& task, const Texts& identity) {
  const TrainedModel& model = task.model();
  RunSummary summary;
  summary.model = facts.spec.name;
  summary.parameters = model.beginning.loaded + model.beginning.fresh;
  summary.height = model.height;
  summary.width = model.width;
  summary.train_images = facts.data.train->size();
  summary.val_images = facts.data.val != nullptr ? facts.data.val->size() : 0;
  summary.ignored_files = facts.data.ignored;
  summary.steps_per_epoch = facts.steps_per_epoch;
  summary.batch = facts.options.batch;
  summary.beginning = model.beginning;
  if (identity.contains("extended")) summary.extended = identity.at("extended");
  summary.task = task.summary();
  if (summary.val_images > 0 && summary.val_images < kFewValidation) {
    summary.task.notes.push_back(few_images_note(task, summary.val_images));
  }
  return summary;
}

std::string run_json(const RunFacts& facts, const Texts& identity,
                     const MetricsRow* stopped_early) {
  const TaskData& data = facts.data;
  Json json;
  std::error_code ignored;
  const auto path = std::filesystem::absolute(facts.data_path, ignored);
  json["data"] = ignored ? facts.data_path : path.lexically_normal().string();
  json["train_images"] = data.train->size();
  json["val_images"] = data.val != nullptr ? data.val->size() : 0;
  json["validation"] = data.val == nullptr     ? Json(nullptr)
                       : data.held_out.empty() ? Json("val")
                                               : Json("validation.txt");
  json["best_by"] = facts.best_by;
  json["steps_per_epoch"] = facts.steps_per_epoch;
  json["processes"] = facts.processes;
  if (identity.contains(kProcessChanges)) json[kProcessChanges] = process_changes(identity);
  if (stopped_early != nullptr) {
    json["stopped_early"] = {{"epoch", stopped_early->epoch}, {"step", stopped_early->step}};
  }
  for (const char* name : {"preset", "extended"}) {
    if (const auto found = identity.find(name); found != identity.end()) {
      json[name] = name == std::string("extended") ? by_form(found->second) : Json(found->second);
    }
  }
  const Texts texts = option_texts(facts.options);
  visit_options(facts.options, [&](const char* name, const auto& value, const char*) {
    using Value = std::decay_t<decltype(value)>;
    json[name] = std::is_arithmetic_v<Value> ? by_form(texts.at(name)) : Json(texts.at(name));
  });
  for (const auto& [field, value] : model_fields(facts.spec)) {
    json[std::string(kFieldPrefix) + field] = by_form(value);
  }
  json[kPreprocessing] = parse_strict_json(kPreprocessing, encode_recipe(facts.spec.recipe));
  for (const char* name : {"train_names", "val_names"}) {
    if (identity.contains(name)) json[name] = identity.at(name);
  }
  return json.dump(1) + "\n";
}

int64_t total_steps(double epochs, int64_t steps_per_epoch) {
  return static_cast<int64_t>(std::ceil(epochs * static_cast<double>(steps_per_epoch) - 1e-9));
}

int64_t run_steps(const TrainOptions& options, int64_t steps_per_epoch) {
  return options.steps > 0 ? options.steps : total_steps(options.epochs, steps_per_epoch);
}

int64_t plan_begin(const Texts& identity) {
  const auto extended = identity.find("extended");
  if (extended == identity.end()) return 0;
  const std::string& before = extended->second;
  const double epochs = as_number(before.substr(before.rfind(',') + 1)).value_or(0);
  return total_steps(epochs, static_cast<int64_t>(number_of(identity, "steps_per_epoch")));
}

Texts continued_identity(const std::string& path, Texts stored, Texts asked, int64_t step) {
  add_later_options(stored, asked);
  add_real_size(stored, asked);
  const std::string patience = stored.contains("patience") ? stored.at("patience") : "0";
  allow_patience(stored, asked);
  // Older versions left the last partial batch of an epoch out and knew no balanced accuracy.
  const bool old = !stored.contains("steps_per_epoch");
  if (old) {
    const double batch = std::max(1.0, number_of(stored, "batch"));
    stored["steps_per_epoch"] =
        fmt::format("{}", std::floor(number_of(stored, "train_images") / batch));
    stored["best_by"] = "top-1";
  }
  for (const char* past : {"preset", "extended", kProcessChanges}) {
    asked.erase(past);
    if (const auto found = stored.find(past); found != stored.end()) asked[past] = found->second;
  }
  allow_processes(stored, asked, step);
  std::vector<std::string> differences;
  std::set<std::string> names;
  const auto differ = [&](const std::string& name, const std::string& sentence) {
    names.insert(name);
    differences.push_back(sentence);
  };
  for (const auto& [name, value] : asked) {
    const auto found = stored.find(name);
    const std::string before = found == stored.end() ? "absent" : found->second;
    if (before != value) differ(name, fmt::format("{} was {}, is {}", name, before, value));
  }
  for (const auto& [name, value] : stored) {
    if (!asked.contains(name)) differ(name, fmt::format("{} was {}", name, value));
  }
  if (differences.empty()) return asked;
  const auto length = [&](const Texts& texts) {
    TrainOptions options;
    options.epochs = number_of(texts, "epochs");
    options.steps = static_cast<int64_t>(number_of(texts, "steps"));
    return run_steps(options, static_cast<int64_t>(number_of(stored, "steps_per_epoch")));
  };
  names.erase("epochs");
  names.erase("steps");
  if (const int64_t steps = length(stored); names.empty() && length(asked) > steps) {
    const bool counted = number_of(stored, "steps") > 0;
    if (step < steps) {
      fail_usage(
          "{} holds a run of {} {} that stands at step {} of {}; let it finish with these "
          "before it is given more{}",
          path, stored.at(counted ? "steps" : "epochs"), counted ? "steps" : "epochs", step, steps,
          patience == "0" ? "" : " (a run that stopped early continues with a larger --patience)");
    }
    std::string& extended = asked["extended"];
    extended += extended.empty() ? "" : ",";
    extended +=
        counted
            ? fmt::format("{}", static_cast<double>(steps) / number_of(stored, "steps_per_epoch"))
            : stored.at("epochs");
    return asked;
  }
  fail_usage("{} holds another run ({}{}); give the same options or another folder", path,
             fmt::join(differences, "; "),
             old ? "; it was begun by an older version, which left out an epoch's last partial "
                   "batch, could leave a class without validation images and chose the best "
                   "network by top-1 alone"
                 : "");
}

TrainOptions with_real_size(TrainOptions options, const Recipe& recipe) {
  if (options.size == 0)
    options.size = recipe.framing == Framing::kPad ? recipe.resize : recipe.crop;
  return options;
}

TrainOptions stored_options(Texts identity) {
  TrainOptions options;
  if (const auto found = identity.find("preset"); found != identity.end()) {
    options.preset = found->second;
  }
  visit_options(options, [&](const char* name, const auto&, const char*) {
    if (const auto found = identity.find(name); found != identity.end()) {
      set_option(options, name, found->second);
    }
  });
  for (const auto& [name, value] : identity) {
    if (!name.starts_with(kFieldPrefix)) continue;
    // Classes come from the data, here as at the start.
    const std::string field = name.substr(kFieldPrefix.size());
    if (field != "classes") options.fields[field] = value;
  }
  if (const auto found = identity.find(kPreprocessing); found != identity.end()) {
    options.recipe = read_recipe("the checkpoint's preprocessing", found->second);
  } else if (options.size == 0 && !is_zoo_name(options.model)) {
    // Of older versions. The size of a file's input is in the file and need not be its image_size,
    // which would replace it.
    options.fields.erase("image_size");
  }
  return options;
}

}  // namespace vig::train
