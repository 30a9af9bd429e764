// A model and its sessions as Python's classes.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <optional>

namespace vig::python {

// What `work` gives, run without Python's lock. The lock is taken back outside of any destructor:
// when the interpreter ends, Python ends the thread there by unwinding it, which no destructor may.
template <class Work>
auto without_lock(const Work& work) {
  std::optional<decltype(work())> result;
  std::exception_ptr error;
  PyThreadState* const state = PyEval_SaveThread();
  try {
    result.emplace(work());
  } catch (...) {
    error = std::current_exception();
  }
  PyEval_RestoreThread(state);
  if (error != nullptr) std::rethrow_exception(error);
  return std::move(*result);
}

// Model, Session and the function that opens a model.
void add_model(pybind11::module_& module);
void add_session(pybind11::module_& module);

}  // namespace vig::python
