#include "vig/train/state.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/json.h"
#include "vig/weights/safetensors.h"
#include "vig/weights/strict_json.h"

namespace vig::train {
namespace {

// Doubles go through text that reads back as the same bits; JSON has no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

Json as_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}
std::vector<double> values_of(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list) values.push_back(number(value));
  return values;
}

Json to_json(const MetricsRow& r) {
  return {{"epoch", number(r.epoch)},
          {"step", r.step},
          {"lr", number(r.lr)},
          {"train_loss", number(r.train_loss)},
          {"train", as_json(r.train)},
          {"val", as_json(r.val)},
          {"images_per_second", number(r.images_per_second)},
          {"seconds", number(r.seconds)}};
}

MetricsRow row_from_json(const Json& j) {
  // Older versions knew classification alone and wrote a list: epoch, step, lr, training loss and
  // top-1, validation loss, top-1 and top-5, speed, seconds and, later on, balanced accuracy.
  if (j.is_array()) {
    return {number(j.at(0)),
            j.at(1).get<int64_t>(),
            number(j.at(2)),
            number(j.at(3)),
            {number(j.at(4))},
            {number(j.at(5)), number(j.at(6)), number(j.at(7)),
             j.size() > 10 ? number(j.at(10)) : kNotMeasured},
            number(j.at(8)),
            number(j.at(9))};
  }
  return {number(j.at("epoch")),
          j.at("step").get<int64_t>(),
          number(j.at("lr")),
          number(j.at("train_loss")),
          values_of(j.at("train")),
          values_of(j.at("val")),
          number(j.at("images_per_second")),
          number(j.at("seconds"))};
}

Json to_json(const RunState& s) {
  Json rows = Json::array();
  for (const MetricsRow& row : s.rows) rows.push_back(to_json(row));
  return {{"step", s.step},
          {"loss_sum", number(s.loss_sum)},
          {"loss_steps", s.loss_steps},
          {"seen", s.seen},
          {"sums", as_json(s.sums)},
          {"row_seconds", number(s.row_seconds)},
          {"seconds", number(s.seconds)},
          {"row_due", s.row_due},
          {"best_step", s.best_step},
          {"rows", rows}};
}

RunState from_json(const Json& j) {
  RunState s;
  s.step = j.at("step").get<int64_t>();
  s.loss_sum = number(j.at("loss_sum"));
  s.loss_steps = j.at("loss_steps").get<double>();
  s.seen = j.at("seen").get<int64_t>();
  // "hits" and a missing "row_due" are of older versions.
  s.sums = j.contains("sums") ? values_of(j.at("sums")) : std::vector{number(j.at("hits"))};
  s.row_seconds = number(j.at("row_seconds"));
  s.seconds = number(j.at("seconds"));
  s.row_due = j.contains("row_due") && j.at("row_due").get<bool>();
  s.best_step = j.at("best_step").get<int64_t>();
  for (const Json& row : j.at("rows")) s.rows.push_back(row_from_json(row));
  return s;
}

std::vector<std::pair<std::string, at::Tensor*>> tensors_of(Parameters& parameters,
                                                            AdamW& optimizer) {
  std::vector<std::pair<std::string, at::Tensor*>> tensors = {{"values", &parameters.values()},
                                                              {"mean", &optimizer.mean()},
                                                              {"square", &optimizer.square()}};
  if (optimizer.average().defined()) tensors.emplace_back("average", &optimizer.average());
  return tensors;
}

}  // namespace

const MetricsRow* RunState::best() const {
  const auto found = std::ranges::find(rows, best_step, &MetricsRow::step);
  return found == rows.end() ? nullptr : &*found;
}

int64_t RunState::rows_since(int64_t highest_step, int64_t from) const {
  const int64_t since = std::max(highest_step, from);
  return std::ranges::count_if(rows, [&](const MetricsRow& row) { return row.step > since; });
}

MetricsRow RunState::open_row() const {
  MetricsRow row;
  row.step = step;
  row.train_loss = loss_steps > 0 ? loss_sum / loss_steps : 0;
  const double images = static_cast<double>(std::max<int64_t>(1, seen));
  for (const double sum : sums) row.train.push_back(sum / images);
  row.images_per_second = static_cast<double>(seen) / std::max(1e-9, row_seconds);
  return row;
}

void RunState::close_row(const MetricsRow& row) {
  rows.push_back(row);
  loss_sum = loss_steps = row_seconds = 0;
  seen = 0;
  std::ranges::fill(sums, 0.0);
  row_due = false;
}

RunState new_state(const Columns& columns) {
  RunState state;
  state.sums.resize(columns.train.size());
  return state;
}

void write_checkpoint(const std::string& path, const RunState& state, Parameters& parameters,
                      AdamW& optimizer, const std::map<std::string, std::string>& description) {
  std::vector<NamedTensor> tensors;
  std::vector<at::Tensor> host;
  for (const auto& [name, tensor] : tensors_of(parameters, optimizer)) {
    host.push_back(tensor->detach().to(at::kCPU));
    tensors.push_back(
        {name, {host.back().data_ptr<float>(), DType::kF32, Shape{host.back().numel()}}});
  }
  Json words = to_json(state);
  words.sort_keys();
  write_safetensors(
      path, tensors,
      {{"vig.train.state", words.dump()}, {"vig.train.run", Json(description).dump()}});
}

namespace {

const std::string& metadata(const SafeTensors& file, const std::string& path, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) fail("{}: expected a training checkpoint", path);
  return found->second;
}

Json parse_metadata(const std::string& text) {
  return parse_strict_json("", text, {.bytes = SafeTensors::kMaxHeader, .depth = 4});
}

RunState read_state(const SafeTensors& file, const std::string& path) {
  const std::string& text = metadata(file, path, "vig.train.state");
  try {
    RunState state = from_json(parse_metadata(text));
    if (state.step >= 0) return state;
  } catch (const Error&) {  // as below
  }
  fail("{}: the state of the run cannot be read", path);
}

}  // namespace

std::map<std::string, std::string> read_description(const std::string& path) {
  const SafeTensors file = SafeTensors::open(path);
  const std::string& text = metadata(file, path, "vig.train.run");
  try {
    const Json words = parse_metadata(text);
    std::map<std::string, std::string> description;
    for (const auto& [name, value] : words.items()) {
      description[name] = value.get<std::string>();
    }
    return description;
  } catch (const Error&) {
    fail("{}: the description of the run cannot be read", path);
  }
}

int64_t read_step(const std::string& path) {
  return read_state(SafeTensors::open(path), path).step;
}

RunState read_checkpoint(const std::string& path, const Columns& columns, Parameters& parameters,
                         AdamW& optimizer) {
  const SafeTensors file = SafeTensors::open(path);
  at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors_of(parameters, optimizer)) {
    const NamedTensor* stored = file.find(name);
    if (stored == nullptr || stored->view.dtype != DType::kF32 ||
        stored->view.shape.elements() != tensor->numel()) {
      fail("{}: expected a tensor {} of {} values", path, name, tensor->numel());
    }
    tensor->copy_(
        at::from_blob(const_cast<void*>(stored->view.data), {tensor->numel()}, at::kFloat));
  }
  RunState state = read_state(file, path);
  const bool fits = std::ranges::all_of(state.rows, [&](const MetricsRow& row) {
    return row.train.size() == columns.train.size() && row.val.size() == columns.val.size();
  });
  if (!fits || state.sums.size() != columns.train.size()) {
    fail("{}: expected {} training and {} validation figures in a row, found others", path,
         columns.train.size(), columns.val.size());
  }
  optimizer.set_steps(state.step);
  return state;
}

}  // namespace vig::train
