#include "vig/bindings/python/session.h"

#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/bindings/python/model.h"
#include "vig/graph/graph.h"
#include "vig/runtime/session.h"

namespace vig::python {
namespace {

// [images, height, width, channels] over memory that belongs to `owner`.
py::array view(const float* first, const float* second, int images, const Grid& grid,
               const py::object& owner) {
  constexpr py::ssize_t kFloat = sizeof(float);
  const py::ssize_t row = kFloat * grid.channels * grid.width;
  // With one image the stride does not matter.
  const py::ssize_t image = second == nullptr ? row * grid.height : kFloat * (second - first);
  return py::array(py::dtype::of<float>(),
                   std::vector<py::ssize_t>{images, grid.height, grid.width, grid.channels},
                   std::vector<py::ssize_t>{image, row, kFloat * grid.channels, kFloat}, first,
                   owner);
}

const Grid& grid_of(const Graph& graph, int node) { return graph.node(node).grid; }

}  // namespace

SessionObject::SessionObject(std::shared_ptr<const OpenModel> model, int height, int width,
                             int batch)
    : model_(std::move(model)), session_(model_->session(height, width, batch)) {}

py::array SessionObject::input(const py::object& self) {
  const int images = session_.batch();
  return view(session_.input(0), images > 1 ? session_.input(1) : nullptr, images,
              grid_of(session_.graph(), session_.graph().inputs.at(0).node), self);
}

void SessionObject::run(std::optional<int> images) {
  const int count = images.value_or(session_.batch());
  if (count < 1 || count > session_.batch()) {
    fail_usage("{} images in a session for {}, expected 1 to {}", count, session_.batch(),
               session_.batch());
  }
  ran_ = without_lock([&] {
    const std::lock_guard alone(running_);
    session_.run(count);
    return count;
  });
}

std::vector<std::string> SessionObject::output_names() const {
  std::vector<std::string> names;
  for (const auto& output : session_.graph().outputs) names.push_back(output.name);
  return names;
}

py::array SessionObject::output(const py::object& self, const std::string& name) const {
  const int node = session_.graph().find_output(name);
  if (node < 0) {
    fail_usage("no output is called {}, only {}", name, fmt::join(output_names(), ", "));
  }
  if (ran_ == 0) fail_usage("the session has not run yet");
  py::array array =
      view(session_.output(name, 0), session_.batch() > 1 ? session_.output(name, 1) : nullptr,
           ran_, grid_of(session_.graph(), node), self);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

std::string SessionObject::text() const {
  const Graph& graph = session_.graph();
  const Grid& grid = grid_of(graph, graph.inputs.at(0).node);
  return fmt::format("Session({}, input=[{}, {}, {}, {}], outputs=[{}])",
                     model_->source().spec.name, session_.batch(), grid.height, grid.width,
                     grid.channels, fmt::join(output_names(), ", "));
}

void add_session(py::module_& module) {
  py::class_<SessionObject>(module, "Session")
      .def_property_readonly(
          "input", [](const py::object& self) { return self.cast<SessionObject&>().input(self); })
      .def_property_readonly("output_names", &SessionObject::output_names)
      .def("run", &SessionObject::run, py::arg("images") = py::none())
      .def(
          "output",
          [](const py::object& self, const std::string& name) {
            return self.cast<const SessionObject&>().output(self, name);
          },
          py::arg("name") = "logits")
      .def("__repr__", &SessionObject::text);
}

}  // namespace vig::python
