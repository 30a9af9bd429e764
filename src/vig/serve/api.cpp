#include "vig/serve/api.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/base/printable.h"
#include "vig/pipeline/json_text.h"
#include "vig/serve/answers.h"
#include "vig/serve/http_error.h"
#include "vig/serve/openapi.h"
#include "vig/serve/page.h"
#include "vig/serve/request_body.h"

namespace vig {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

HttpResponse error_response(int status, const std::string& kind, const std::string& sentence) {
  HttpResponse response;
  response.status = status;
  response.body = json_text({{"error", {{"kind", kind}, {"message", sentence}}}}) + "\n";
  return response;
}

// Equal in a time that does not show how many letters are right.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(a[i] ^ b[i % std::max<size_t>(b.size(), 1)]);
  }
  return different == 0;
}

const char* task_name(ModelTask task) {
  switch (task) {
    case ModelTask::kClassify:
      return "classify";
    case ModelTask::kSegment:
      return "segment";
    case ModelTask::kDetect:
      return "detect";
  }
  return "";
}

// The options of a request as numbers and names.
class Options {
 public:
  explicit Options(std::map<std::string, std::string> given) : given_(std::move(given)) {}

  std::string text(const std::string& name) {
    const auto found = given_.find(name);
    if (found == given_.end()) return "";
    std::string value = found->second;
    given_.erase(found);
    return value;
  }
  int whole(const std::string& name, int otherwise, int least, int most) {
    return number<int>(name, otherwise, least, most);
  }
  double real(const std::string& name, double otherwise, double least, double most) {
    return number<double>(name, otherwise, least, most);
  }
  bool flag(const std::string& name) {
    const std::string value = text(name);
    if (value.empty() || value == "0" || value == "false") return false;
    if (value == "1" || value == "true") return true;
    bad_request("option {} is {}, expected true or false", name, printable(value, 40));
  }
  // What is left is an option that nobody knows.
  void check_all_known() const {
    if (!given_.empty()) {
      bad_request("there is no option {} here", printable(given_.begin()->first, 40));
    }
  }

 private:
  template <typename Number>
  Number number(const std::string& name, Number otherwise, Number least, Number most) {
    const std::string value = text(name);
    if (value.empty()) return otherwise;
    Number result{};
    const char* const end = value.data() + value.size();
    const auto [last, error] = std::from_chars(value.data(), end, result);
    if (error != std::errc() || last != end || !(result >= least && result <= most)) {
      bad_request("option {} is {}, expected a number from {} to {}", name, printable(value, 40),
                  least, most);
    }
    return result;
  }

  std::map<std::string, std::string> given_;
};

int class_of(const OpenModel& model, const std::string& option, const std::string& text) {
  if (text.empty()) return -1;
  const auto& names = model.classes();
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  int number = -1;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && last == end && number >= 0 && number < model.class_count()) {
    return number;
  }
  bad_request("{}: {} is none of the {} classes", option, printable(text, 60), model.class_count());
}

}  // namespace

// A request that waits for a network.
struct ApiWork {
  std::string body;  // holds the pictures
  RequestBody pictures;
  AnswerRequest request;
  const HostedModel* model = nullptr;
  Respond respond;
};

struct Api::Impl {
  Impl(std::vector<HostedModel> hosted, const ApiOptions& api_options, ServerMetrics& counters)
      : models(std::move(hosted)),
        options(api_options),
        metrics(counters),
        queue(api_options.queue, [this](auto& batch) { run(batch); }) {}

  const HostedModel& find(const std::string& name, ModelTask task) const;
  AnswerRequest read(AnswerKind kind, Options& given, const OpenModel& model) const;
  void accept(AnswerKind kind, HttpRequest request, Respond respond);
  HttpResponse get(const std::string& path) const;
  std::string model_list() const;
  void run(std::vector<BatchQueue<ApiWork>::Entry>& batch);

  const std::vector<HostedModel> models;
  const ApiOptions options;
  ServerMetrics& metrics;
  BatchQueue<ApiWork> queue;  // last: its threads use the others
};

const HostedModel& Api::Impl::find(const std::string& name, ModelTask task) const {
  for (const HostedModel& one : models) {
    if (name.empty() ? one.model->task() == task : one.name == name) {
      if (one.model->task() == task) return one;
      bad_request("model {} is for {}, not for {}", one.name, task_name(one.model->task()),
                  task_name(task));
    }
  }
  if (!name.empty()) {
    throw HttpError(404, "no_such_model", fmt::format("there is no model {}", printable(name, 60)));
  }
  throw HttpError(404, "no_such_model",
                  fmt::format("this server has no model for {}", task_name(task)));
}

AnswerRequest Api::Impl::read(AnswerKind kind, Options& given, const OpenModel& model) const {
  AnswerRequest request;
  request.kind = kind;
  request.picture = given.flag("picture");
  switch (kind) {
    case AnswerKind::kClassify:
      request.top = given.whole("top", 5, 1, 1 << 20);
      request.threshold = given.real("threshold", 0, 0, 1);
      request.size = given.whole("size", 0, 0, 2048);
      break;
    case AnswerKind::kEmbed:
      request.map = given.flag("map");
      request.size = given.whole("size", 0, 0, 2048);
      break;
    case AnswerKind::kExplain:
      request.evidence.about = class_of(model, "class", given.text("class"));
      request.evidence.against = class_of(model, "against", given.text("against"));
      request.attention.x = given.real("x", -1, 0, 1);
      request.attention.y = given.real("y", -1, 0, 1);
      request.attention.layer = given.whole("layer", -1, 0, 1 << 20);
      request.attention.head = given.whole("head", -1, 0, 1 << 20);
      request.size = given.whole("size", 0, 0, 2048);
      if ((request.attention.x < 0) != (request.attention.y < 0)) {
        bad_request("x and y name a place together");
      }
      break;
    case AnswerKind::kSegment:
    case AnswerKind::kDetect:
      break;
  }
  given.check_all_known();
  return request;
}

void Api::Impl::accept(AnswerKind kind, HttpRequest request, Respond respond) {
  BatchQueue<ApiWork>::Entry entry;
  ApiWork& work = entry.work;
  work.body = std::move(request.body);
  work.pictures = read_request_body(request.content_type, work.body, options.most_pictures);
  std::map<std::string, std::string> given = read_query(request.query);
  for (const auto& [name, value] : work.pictures.options) {
    if (!given.emplace(name, value).second) bad_request("option {} is given twice", name);
  }
  if (work.pictures.pictures.empty()) bad_request("the request has no picture");
  Options left(std::move(given));
  work.model = &find(left.text("model"), task_of(kind));
  work.request = read(kind, left, *work.model->model);
  work.respond = std::move(respond);
  entry.pictures = work.pictures.pictures.size();
  entry.key = fmt::format("{}|{}", work.model->name, key_of(work.request));
  // `respond` belongs to the work now: what cannot be queued is answered through it.
  if (queue.add(entry)) return;
  metrics.error("queue_full");
  HttpResponse full = error_response(503, "queue_full", "too many pictures wait; try again");
  full.retry_after = 1;
  entry.work.respond(full);
}

void Api::Impl::run(std::vector<BatchQueue<ApiWork>::Entry>& batch) {
  std::vector<SentPicture> pictures;
  for (const auto& entry : batch) {
    pictures.insert(pictures.end(), entry.work.pictures.pictures.begin(),
                    entry.work.pictures.pictures.end());
  }
  metrics.batch(pictures.size());
  HttpResponse failed;
  std::vector<Answer> answers;
  const ApiWork& first = batch.front().work;
  try {
    answers = answer_pictures(*first.model->model, first.request, pictures, options.decode);
  } catch (const Error& error) {
    failed =
        error_response(error.code() == ErrorCode::kUsage ? 400 : 422, "no_answer", error.what());
  } catch (const std::bad_alloc&) {
    failed = error_response(503, "no_memory", "there is not enough memory at the moment");
    failed.retry_after = 1;
  } catch (const std::exception& error) {
    failed = error_response(500, "internal", error.what());
  }
  size_t next = 0;
  for (auto& entry : batch) {
    if (answers.size() != pictures.size()) {
      entry.work.respond(failed);
      continue;
    }
    const auto own = answers.begin() + static_cast<std::ptrdiff_t>(next);
    const auto end = own + static_cast<std::ptrdiff_t>(entry.pictures);
    next += entry.pictures;
    HttpResponse response;
    const bool none = std::none_of(own, end, [](const Answer& one) { return one.good; });
    if (none) metrics.error("bad_picture");
    response.status = none ? 422 : 200;
    response.body = fmt::format("{{\"model\":{},\"results\":[", json_text(entry.work.model->name));
    for (auto one = own; one != end; ++one) {
      if (one != own) response.body += ',';
      response.body += one->json;
    }
    response.body += "]}\n";
    entry.work.respond(std::move(response));
  }
}

std::string Api::Impl::model_list() const {
  ordered_json list = ordered_json::array();
  for (const HostedModel& one : models) {
    const ModelSource& source = one.model->source();
    list.push_back({{"name", one.name},
                    {"task", task_name(one.model->task())},
                    {"arch", source.spec.name},
                    {"classes", source.classes},
                    {"class_count", one.model->class_count()},
                    {"size", source.spec.recipe.crop}});
  }
  return json_text({{"models", list}}) + "\n";
}

HttpResponse Api::Impl::get(const std::string& path) const {
  HttpResponse response;
  if (path == "/health" || path == "/ready") {
    response.body = "{\"status\":\"ok\"}\n";
  } else if (path == "/v1/models") {
    response.body = model_list();
  } else if (path == "/openapi.json") {
    response.body = openapi_text();
  } else if (path == "/metrics") {
    response.content_type = "text/plain; version=0.0.4";
    response.body = metrics.text(
        {queue.waiting(), options.connections ? options.connections() : 0, process_memory()});
  } else if (path == "/") {
    response.content_type = "text/html; charset=utf-8";
    response.body = page_text();
  } else {
    throw HttpError(404, "no_such_route", fmt::format("there is no {}", printable(path, 100)));
  }
  return response;
}

Api::Api(std::vector<HostedModel> models, const ApiOptions& options, ServerMetrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(models), options, metrics)) {}
Api::~Api() = default;

void Api::handle(HttpRequest request, Respond respond) {
  const auto since = Clock::now();
  const std::optional<AnswerKind> kind = kind_of_route(request.path);
  const bool open = request.path == "/" || request.path == "/health" || request.path == "/ready";
  // Routes that are not there are counted under one name, so that clients cannot invent many.
  std::string route = request.path;
  const auto counted = [this, since, done = std::move(respond)](const std::string& name) {
    return [this, since, done, name](HttpResponse response) {
      const std::chrono::duration<double> seconds = Clock::now() - since;
      impl_->metrics.request(name, response.status, seconds.count());
      if (impl_->options.log) impl_->options.log(name, response.status, seconds.count());
      done(std::move(response));
    };
  };
  try {
    const bool allowed = impl_->options.token.empty() ||
                         same_secret(request.authorization, "Bearer " + impl_->options.token);
    if (!open && !allowed) {
      impl_->metrics.error("unauthorized");
      return counted("other")(error_response(
          401, "unauthorized", "expected the header Authorization: Bearer and the token"));
    }
    if (kind) {
      if (request.method != "POST") {
        return counted(route)(
            error_response(405, "wrong_method", "this route takes POST with a picture"));
      }
      return impl_->accept(*kind, std::move(request), counted(route));
    }
    if (request.method != "GET") {
      return counted("other")(error_response(405, "wrong_method", "this route takes GET"));
    }
    HttpResponse response = impl_->get(request.path);
    counted(route)(std::move(response));
  } catch (const HttpError& error) {
    impl_->metrics.error(error.kind());
    const bool known = error.kind() != "no_such_route";
    counted(known ? route : "other")(error_response(error.status(), error.kind(), error.what()));
  } catch (const std::bad_alloc&) {
    impl_->metrics.error("no_memory");
    counted("other")(error_response(503, "no_memory", "there is not enough memory at the moment"));
  }
}

}  // namespace vig
