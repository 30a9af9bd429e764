// The compiled part of the Python package vig (vig/__init__.py beside it).
#include <pybind11/pybind11.h>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/bindings/python/model.h"
#include "vig/bindings/python/regions.h"
#include "vig/bindings/python/results.h"
#include "vig/runtime/session.h"

PYBIND11_MODULE(_engine, module) {
  namespace py = pybind11;
  using vig::python::add_model, vig::python::add_results, vig::python::add_session;
  // UsageError is an Error, so the translator of Error must not come first.
  static py::exception<vig::Error> error(module, "Error");
  static py::exception<vig::Error> usage(module, "UsageError", error.ptr());
  for (py::handle type : {py::handle(error), py::handle(usage)}) type.attr("__module__") = "vig";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const vig::Error& problem) {
      // Python's texts are UTF-8, names of files need not be.
      const std::string sentence = vig::printable(problem.what(), 8192);
      (problem.code() == vig::ErrorCode::kUsage ? usage : error)(sentence.c_str());
    }
  });
  add_results(module);
  add_session(module);
  add_model(module);
  vig::python::add_regions(module);
  for (const char* name : {"ClassScore", "Classification", "Evidence", "Attention", "Segmentation",
                           "Detection", "Session", "Model"}) {
    module.attr(name).attr("__module__") = "vig";
  }
  module.attr("__version__") = VIG_VERSION;
}
