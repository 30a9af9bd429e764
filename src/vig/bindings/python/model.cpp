#include "vig/bindings/python/model.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/suggestion.h"
#include "vig/bindings/python/images.h"
#include "vig/bindings/python/regions.h"
#include "vig/bindings/python/results.h"
#include "vig/bindings/python/session.h"
#include "vig/pipeline/model_source.h"

namespace vig::python {
namespace {

// A class by name or number.
using ClassChoice = std::optional<std::variant<int, std::string>>;

// A UserWarning of Python, which throws where the caller's filters say so.
void warn(const std::string& sentence) {
  if (PyErr_WarnEx(PyExc_UserWarning, printable(sentence, 8192).c_str(), 1) != 0) {
    throw py::error_already_set();
  }
}

class ModelObject {
 public:
  ModelObject(std::shared_ptr<const OpenModel> model, const DecodeOptions& decode)
      : model_(std::move(model)), names_(*model_), decode_(decode) {}

  const OpenModel& model() const { return *model_; }
  const std::shared_ptr<const OpenModel>& shared() const { return model_; }
  const ClassNames& names() const { return names_; }
  const DecodeOptions& decode() const { return decode_; }
  const char* task() const {
    constexpr const char* kTasks[] = {"classify", "segment", "detect"};
    return kTasks[static_cast<int>(model_->task())];
  }

  // Runs `work(model, images)` without Python's lock. One result for one image, a list for a
  // list. A bad image throws; with `skip_errors` its entry in the list is the error.
  template <typename Work>
  py::object predict(const py::object& given, bool skip_errors, const Work& work) const {
    const GivenImages images(given, decode_);
    const auto results = without_lock([&] { return work(*model_, images); });
    py::list all;
    for (const auto& one : results) {
      for (const ImageWarning& warning : one.warnings) {
        warn(fmt::format("{}: {}", one.name, warning.message));
      }
      if (one.error.empty()) {
        all.append(as_object(one.prediction, names_));
      } else if (skip_errors && !images.single()) {
        all.append(py::module_::import("vig").attr("Error")(printable(one.error, 8192)));
      } else {
        throw Error(ErrorCode::kInput, one.error);
      }
    }
    if (images.single()) return all[0];
    return all;
  }

  int label(const ClassChoice& choice) const {
    if (!choice) return -1;
    if (const int* number = std::get_if<int>(&*choice)) {
      if (*number < 0) fail_usage("class {}, expected at least 0", *number);
      return *number;
    }
    const std::string& name = std::get<std::string>(*choice);
    const auto& names = model_->classes();
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    fail_usage("{}: none of the {} classes of {}{}", printable(name, 60), model_->class_count(),
               model_->source().name, suggestion(name, names));
  }

 private:
  const std::shared_ptr<const OpenModel> model_;
  const ClassNames names_;
  const DecodeOptions decode_;
};

struct LoadOptions {
  std::string arch;
  int size = 0, batch = 0, threads = 0;
  std::optional<int64_t> max_pixels;
  bool ignore_orientation = false;
  std::string precision;
  std::vector<std::string> float_layers;

  void check() const {
    const auto inside = [](const char* name, int64_t value, int64_t most) {
      if (value < 0 || value > most) fail_usage("{}={}, expected 0 to {}", name, value, most);
    };
    inside("size", size, kMaxInputSide);
    inside("batch", batch, 4096);
    inside("threads", threads, 1024);
    if (max_pixels && *max_pixels < 1) {
      fail_usage("max_pixels={}, expected at least 1", *max_pixels);
    }
  }
};

// The bytes of a weight file, held for as long as the model needs them.
std::shared_ptr<const void> hold(const py::bytes& bytes) {
  return {bytes.inc_ref().ptr(), [](const void* object) {
            const py::gil_scoped_acquire locked;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(object)));
          }};
}

ModelObject load(const py::object& file, const LoadOptions& options) {
  options.check();
  ModelRequest request;
  request.arch = options.arch;
  std::string_view bytes;
  std::shared_ptr<const void> owner;
  if (py::isinstance<py::bytes>(file)) {
    bytes = file.cast<std::string_view>();
    owner = hold(file.cast<py::bytes>());
    request.model = "the model";
  } else {
    PyObject* path = nullptr;
    if (PyUnicode_FSConverter(file.ptr(), &path) == 0) throw py::error_already_set();
    request.model = std::string(py::reinterpret_steal<py::bytes>(path));
  }
  RunOptions run;
  run.size = options.size;
  run.batch = options.batch;
  run.threads = options.threads;
  run.precision = {arithmetic_from_name(options.precision), options.float_layers};
  DecodeOptions decode;
  decode.max_pixels = options.max_pixels.value_or(decode.max_pixels);
  decode.apply_orientation = !options.ignore_orientation;
  const auto model = without_lock([&] {
    ModelSource source =
        owner ? find_source(request,
                            {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()},
                            owner)
              : find_source(request);
    return std::make_shared<const OpenModel>(std::move(source), run);
  });
  return ModelObject(model, decode);
}

py::object classify(const ModelObject& self, const py::object& x, int top, int size, bool skip) {
  if (top < 1) fail_usage("top={}, expected at least 1", top);
  return self.predict(x, skip, [&](const OpenModel& model, const SampleSource& images) {
    return model.classify(images, top, size);
  });
}

py::object embed(const ModelObject& self, const py::object& x, bool map, int size, bool skip) {
  return self.predict(x, skip, [&](const OpenModel& model, const SampleSource& images) {
    return model.embed(images, map ? Embedder::Kind::kMap : Embedder::Kind::kPooled, size);
  });
}

py::object segment(const ModelObject& self, const py::object& x, const RegionArguments& regions,
                   bool skip) {
  if (regions.given())
    return segment_regions(self.model(), self.names(), self.decode(), x, regions);
  return self.predict(x, skip, [](const OpenModel& model, const SampleSource& images) {
    return model.segment(images);
  });
}

py::object detect(const ModelObject& self, const py::object& x, double score, bool skip) {
  return self.predict(x, skip, [&](const OpenModel& model, const SampleSource& images) {
    auto results = model.detect(images);
    for (auto& one : results) keep_above(static_cast<float>(score), one);
    return results;
  });
}

py::object explain(const ModelObject& self, const py::object& x, const ClassChoice& about,
                   const ClassChoice& against, const std::optional<std::pair<double, double>>& at,
                   std::optional<int> layer, std::optional<int> head, int size, bool skip) {
  if (at && (about || against)) {
    fail_usage("at=(x, y) shows attention, which has no class: it excludes about and against");
  }
  if (!at && (layer || head)) {
    fail_usage("layer and head need at=(x, y), the position whose attention is shown");
  }
  if (layer.value_or(0) < 0) fail_usage("layer={}, expected at least 0", *layer);
  if (head.value_or(0) < 0) fail_usage("head={}, expected at least 0", *head);
  if (at) {
    const Explainer::AttentionRequest request{at->first, at->second, layer.value_or(-1),
                                              head.value_or(-1)};
    return self.predict(x, skip, [&](const OpenModel& model, const SampleSource& images) {
      return model.attention(images, request, size);
    });
  }
  const Explainer::EvidenceRequest request{self.label(about), self.label(against)};
  return self.predict(x, skip, [&](const OpenModel& model, const SampleSource& images) {
    return model.evidence(images, request, size);
  });
}

py::object call(const ModelObject& self, const py::object& x, bool skip) {
  switch (self.model().task()) {
    case ModelTask::kSegment:
      return segment(self, x, {}, skip);
    case ModelTask::kDetect:
      return detect(self, x, kShownScore, skip);
    case ModelTask::kClassify:
      break;
  }
  return classify(self, x, 5, 0, skip);
}

std::unique_ptr<SessionObject> make_session(const ModelObject& self, int height, int width,
                                            int batch) {
  return without_lock(
      [&] { return std::make_unique<SessionObject>(self.shared(), height, width, batch); });
}

}  // namespace

void add_model(py::module_& module) {
  const auto x = py::arg("x");
  const auto skip = py::arg("skip_errors") = false;
  const auto size = py::arg("size") = 0;
  const auto none = [](const char* name) { return py::arg(name) = py::none(); };
  py::class_<ModelObject>(module, "Model")
      .def("__call__", &call, x, py::kw_only(), skip)
      .def("classify", &classify, x, py::kw_only(), py::arg("top") = 5, size, skip)
      .def("embed", &embed, x, py::kw_only(), py::arg("map") = false, size, skip)
      .def(
          "segment",
          [](const ModelObject& self, const py::object& image,
             const std::optional<RegionArguments::Region>& region, std::optional<int> level,
             std::optional<double> mpp, std::optional<int> window, std::optional<int> overlap,
             bool skip_background, const py::object& out, bool skip_errors) {
            const RegionArguments regions{region,  level,           mpp, window,
                                          overlap, skip_background, out};
            return segment(self, image, regions, skip_errors);
          },
          x, py::kw_only(), none("region"), none("level"), none("mpp"), none("window"),
          none("overlap"), py::arg("skip_background") = false, none("out"), skip)
      .def("detect", &detect, x, py::kw_only(), py::arg("score") = kShownScore, skip)
      .def("explain", &explain, x, py::kw_only(), none("about"), none("against"), none("at"),
           none("layer"), none("head"), size, skip)
      .def("session", &make_session, py::arg("height"), py::arg("width"), py::arg("batch") = 1)
      .def_property_readonly("task", &ModelObject::task)
      .def_property_readonly(
          "arch", [](const ModelObject& self) { return self.model().source().spec.name; })
      .def_property_readonly("classes",
                             [](const ModelObject& self) { return py::list(self.names().all()); })
      .def_property_readonly("class_count",
                             [](const ModelObject& self) { return self.model().class_count(); })
      .def_property_readonly("size",
                             [](const ModelObject& self) {
                               const OpenModel& model = self.model();
                               return model.task() == ModelTask::kClassify
                                          ? model.runner()->recipe().crop
                                          : model.source().spec.recipe.crop;
                             })
      .def("__repr__", [](const ModelObject& self) {
        return fmt::format("Model({}, {}, {} classes)", self.model().source().spec.name,
                           self.task(), self.model().class_count());
      });
  module.def(
      "load",
      [](const py::object& file, const std::string& arch, int input, int batch, int threads,
         std::optional<int64_t> max_pixels, bool ignore_orientation, const std::string& precision,
         const std::vector<std::string>& float_layers) {
        return load(file, {arch, input, batch, threads, max_pixels, ignore_orientation, precision,
                           float_layers});
      },
      py::arg("file"), py::kw_only(), py::arg("arch") = "", size, py::arg("batch") = 0,
      py::arg("threads") = 0, none("max_pixels"), py::arg("ignore_orientation") = false,
      py::arg("precision") = "float32", py::arg("float_layers") = std::vector<std::string>{});
}

}  // namespace vig::python
