// A model and its sessions as Python's classes.
#pragma once

#include <pybind11/pybind11.h>

namespace vig::python {

// Model, Session and the function that opens a model.
void add_model(pybind11::module_& module);
void add_session(pybind11::module_& module);

}  // namespace vig::python
