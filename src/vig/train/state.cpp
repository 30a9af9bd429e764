#include "vig/train/state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vig/base/error.h"
#include "vig/weights/safetensors.h"

namespace vig::train {
namespace {

using nlohmann::json;

// Doubles go through text that reads back as the same bits; JSON has no NaN.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

json to_json(const RunState& s) {
  json rows = json::array();
  for (const MetricsRow& r : s.rows) {
    rows.push_back({number(r.epoch), r.step, number(r.lr), number(r.train_loss),
                    number(r.train_top1), number(r.val_loss), number(r.val_top1),
                    number(r.val_top5), number(r.images_per_second), number(r.seconds),
                    number(r.val_balanced)});
  }
  return {{"step", s.step},
          {"loss_sum", number(s.loss_sum)},
          {"hits", s.hits},
          {"seen", s.seen},
          {"loss_steps", s.loss_steps},
          {"row_seconds", number(s.row_seconds)},
          {"seconds", number(s.seconds)},
          {"row_due", s.row_due},
          {"best_score", number(s.best_score)},
          {"best_top1", number(s.best_top1)},
          {"best_loss", number(s.best_loss)},
          {"best_step", s.best_step},
          {"rows", rows}};
}

RunState from_json(const json& j) {
  RunState s;
  s.step = j.at("step").get<int64_t>();
  s.loss_sum = number(j.at("loss_sum"));
  s.hits = j.at("hits").get<int64_t>();
  s.seen = j.at("seen").get<int64_t>();
  s.loss_steps = j.at("loss_steps").get<double>();
  s.row_seconds = number(j.at("row_seconds"));
  s.seconds = number(j.at("seconds"));
  s.best_top1 = number(j.at("best_top1"));
  // Runs of older versions have neither: they chose by top-1, and never stopped before validation.
  s.best_score = number(j.value("best_score", j.at("best_top1")));
  s.row_due = j.value("row_due", false);
  s.best_loss = number(j.at("best_loss"));
  s.best_step = j.at("best_step").get<int64_t>();
  for (const json& r : j.at("rows")) {
    s.rows.push_back({number(r.at(0)), r.at(1).get<int64_t>(), number(r.at(2)), number(r.at(3)),
                      number(r.at(4)), number(r.at(5)), number(r.at(6)), number(r.at(7)),
                      r.size() > 10 ? number(r.at(10)) : number(json(nullptr)), number(r.at(8)),
                      number(r.at(9))});
  }
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

void write_checkpoint(const std::string& path, const RunState& state, Parameters& parameters,
                      AdamW& optimizer, const std::map<std::string, std::string>& description) {
  std::vector<NamedTensor> tensors;
  std::vector<at::Tensor> host;
  for (const auto& [name, tensor] : tensors_of(parameters, optimizer)) {
    host.push_back(tensor->detach().to(at::kCPU));
    tensors.push_back(
        {name, {host.back().data_ptr<float>(), DType::kF32, Shape{host.back().numel()}}});
  }
  write_safetensors(
      path, tensors,
      {{"vig.train.state", to_json(state).dump()}, {"vig.train.run", json(description).dump()}});
}

namespace {

const std::string& metadata(const SafeTensors& file, const std::string& path, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) fail("{}: expected a training checkpoint", path);
  return found->second;
}

RunState read_state(const SafeTensors& file, const std::string& path) {
  try {
    return from_json(json::parse(metadata(file, path, "vig.train.state")));
  } catch (const json::exception&) {
    fail("{}: the state of the run cannot be read", path);
  }
}

}  // namespace

std::map<std::string, std::string> read_description(const std::string& path) {
  const SafeTensors file = SafeTensors::open(path);
  try {
    return json::parse(metadata(file, path, "vig.train.run"))
        .get<std::map<std::string, std::string>>();
  } catch (const json::exception&) {
    fail("{}: the description of the run cannot be read", path);
  }
}

int64_t read_step(const std::string& path) {
  return read_state(SafeTensors::open(path), path).step;
}

void read_checkpoint(const std::string& path, RunState& state, Parameters& parameters,
                     AdamW& optimizer) {
  const SafeTensors file = SafeTensors::open(path);
  at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors_of(parameters, optimizer)) {
    const NamedTensor* stored = file.find(name);
    if (stored == nullptr || stored->view.dtype != DType::kF32 ||
        stored->view.shape.elements() != tensor->numel()) {
      fail("{}: expected a tensor {} of {} numbers", path, name, tensor->numel());
    }
    tensor->copy_(
        at::from_blob(const_cast<void*>(stored->view.data), {tensor->numel()}, at::kFloat));
  }
  state = read_state(file, path);
  optimizer.set_steps(state.step);
}

std::string metrics_csv(const std::vector<MetricsRow>& rows) {
  std::string text =
      "epoch,step,lr,train_loss,train_top1,val_loss,val_top1,val_top5,val_balanced,"
      "images_per_second,seconds\n";
  const auto cell = [](double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : std::string();
  };
  for (const MetricsRow& r : rows) {
    text += fmt::format("{:.6g},{},{:.6g},{},{},{},{},{},{},{},{}\n", r.epoch, r.step, r.lr,
                        cell(r.train_loss, 6), cell(r.train_top1, 6), cell(r.val_loss, 6),
                        cell(r.val_top1, 6), cell(r.val_top5, 6), cell(r.val_balanced, 6),
                        cell(r.images_per_second, 1), cell(r.seconds, 1));
  }
  return text;
}

}  // namespace vig::train
