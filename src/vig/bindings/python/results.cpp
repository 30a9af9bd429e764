#include "vig/bindings/python/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "vig/image/mask.h"
#include "vig/tasks/overlay.h"

namespace vig::python {
namespace {

// An array that holds a copy of the values.
template <typename Value>
py::array array_of(const std::vector<Value>& values, std::vector<py::ssize_t> shape) {
  py::array_t<Value> array(std::move(shape));
  std::copy(values.begin(), values.end(), array.mutable_data());
  return array;
}

py::array map_array(const TokenMap& map) { return array_of(map.values, {map.height, map.width}); }

py::object score_object(const ClassScore& score, const ClassNames& names) {
  return py::cast(
      ScoreObject{score.index, names.name(score.index), score.probability, score.logit});
}

std::string text_of(const py::handle& object) { return py::repr(object).cast<std::string>(); }

// 'cat', or 3 where classes have no names.
std::string class_text(const py::object& name, int index) {
  return name.is_none() ? fmt::format("{}", index) : text_of(name);
}

std::string shape_text(const py::array& array) {
  return array.ndim() == 2 ? fmt::format("{} x {}", array.shape(0), array.shape(1)) : "";
}

const ScoreObject& best(const ClassificationObject& result) {
  return result.classes[0].cast<const ScoreObject&>();
}

void add_classification(py::module_& module) {
  py::class_<ScoreObject>(module, "ClassScore")
      .def_readonly("index", &ScoreObject::index)
      .def_readonly("name", &ScoreObject::name)
      .def_readonly("probability", &ScoreObject::probability)
      .def_readonly("logit", &ScoreObject::logit)
      .def("__repr__", [](const ScoreObject& score) {
        return fmt::format("ClassScore(index={}, name={}, probability={:.6g}, logit={:.6g})",
                           score.index, text_of(score.name), score.probability, score.logit);
      });
  py::class_<ClassificationObject>(module, "Classification")
      .def_readonly("classes", &ClassificationObject::classes)
      .def_property_readonly("index",
                             [](const ClassificationObject& all) { return best(all).index; })
      .def_property_readonly("name", [](const ClassificationObject& all) { return best(all).name; })
      .def_property_readonly("probability",
                             [](const ClassificationObject& all) { return best(all).probability; })
      .def("__repr__", [](const ClassificationObject& all) {
        std::string text;
        for (const py::handle one : all.classes) {
          const auto& score = one.cast<const ScoreObject&>();
          text += fmt::format("{}{} {:.2f} %", text.empty() ? "" : ", ",
                              class_text(score.name, score.index), 100 * score.probability);
        }
        return "Classification(" + text + ")";
      });
}

void add_explanations(py::module_& module) {
  py::class_<EvidenceObject>(module, "Evidence")
      .def_readonly("about", &EvidenceObject::about)
      .def_readonly("against", &EvidenceObject::against)
      .def_readonly("map", &EvidenceObject::map)
      .def("__repr__", [](const EvidenceObject& evidence) {
        const auto& about = evidence.about.cast<const ScoreObject&>();
        std::string text = fmt::format("Evidence(about={}", class_text(about.name, about.index));
        if (!evidence.against.is_none()) {
          const auto& against = evidence.against.cast<const ScoreObject&>();
          text += ", against=" + class_text(against.name, against.index);
        }
        return text + ", map=" + shape_text(evidence.map) + ")";
      });
  py::class_<AttentionObject>(module, "Attention")
      .def_readonly("layer", &AttentionObject::layer)
      .def_readonly("head", &AttentionObject::head)
      .def_readonly("row", &AttentionObject::row)
      .def_readonly("column", &AttentionObject::column)
      .def_readonly("map", &AttentionObject::map)
      .def("__repr__", [](const AttentionObject& attention) {
        return fmt::format("Attention(layer={}, head={}, row={}, column={}, map={})",
                           attention.layer, text_of(attention.head), attention.row,
                           attention.column, shape_text(attention.map));
      });
}

void add_dense(py::module_& module) {
  py::class_<SegmentationObject>(module, "Segmentation")
      .def_readonly("labels", &SegmentationObject::labels)
      .def_readonly("shares", &SegmentationObject::shares)
      .def("__repr__", [](const SegmentationObject& all) {
        std::string text = all.labels.is_none() ? "None" : shape_text(all.labels.cast<py::array>());
        for (const py::handle one : all.shares) {
          const auto share = one.cast<py::tuple>();
          text += fmt::format(", {} {:.2f} %", class_text(share[1], share[0].cast<int>()),
                              100 * share[2].cast<double>());
        }
        return "Segmentation(" + text + ")";
      });
  py::class_<DetectionObject>(module, "Detection")
      .def_readonly("box", &DetectionObject::box)
      .def_readonly("label", &DetectionObject::label)
      .def_readonly("name", &DetectionObject::name)
      .def_readonly("score", &DetectionObject::score)
      .def_property_readonly("area", [](const DetectionObject& one) { return one.mask.area(); })
      .def_property_readonly("mask",
                             [](const DetectionObject& one) {
                               const std::vector<uint8_t> pixels = decode_mask(one.mask);
                               py::array_t<bool> mask({one.mask.height, one.mask.width});
                               std::copy(pixels.begin(), pixels.end(), mask.mutable_data());
                               return mask;
                             })
      .def_property_readonly("rle",
                             [](const DetectionObject& one) {
                               py::dict rle;
                               rle["size"] = py::make_tuple(one.mask.height, one.mask.width);
                               rle["counts"] = mask_text(one.mask);
                               return rle;
                             })
      .def("__repr__", [](const DetectionObject& one) {
        return fmt::format("Detection({} {:.2f} %, box={})", class_text(one.name, one.label),
                           100 * one.score, text_of(one.box));
      });
}

}  // namespace

ClassNames::ClassNames(const OpenModel& model) {
  for (const std::string& name : model.classes()) {
    // Names from a file may be no UTF-8.
    names_.append(py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
        name.data(), static_cast<py::ssize_t>(name.size()), "surrogateescape")));
  }
}

py::object ClassNames::name(int label) const {
  const auto index = static_cast<size_t>(label);
  if (label < 0 || index >= names_.size()) return py::none();
  return names_[index];
}

void add_results(py::module_& module) {
  add_classification(module);
  add_explanations(module);
  add_dense(module);
}

py::object as_object(const Classification& result, const ClassNames& names) {
  ClassificationObject object;
  for (const ClassScore& score : result.scores) object.classes.append(score_object(score, names));
  return py::cast(std::move(object));
}

py::object as_object(const Embedding& result, const ClassNames&) {
  const std::vector<int> shape = result.shape();
  return array_of(result.values, {shape.begin(), shape.end()});
}

py::object as_object(const Evidence& result, const ClassNames& names) {
  return py::cast(EvidenceObject{score_object(result.about, names),
                                 result.against ? score_object(*result.against, names) : py::none(),
                                 map_array(result.map)});
}

py::object as_object(const LayerAttention& result, const ClassNames&) {
  return py::cast(AttentionObject{result.layer,
                                  result.head < 0 ? py::object(py::none()) : py::int_(result.head),
                                  result.row, result.column, map_array(result.map)});
}

py::object as_object(const Segmentation& result, const ClassNames& names) {
  SegmentationObject object;
  const LabelMap& labels = result.labels;
  object.labels = array_of(labels.labels, {labels.height, labels.width});
  for (const AreaShare& area : area_shares(labels)) {
    object.shares.append(py::make_tuple(area.label, names.name(area.label), area.share));
  }
  return py::cast(std::move(object));
}

py::object as_object(const Detections& result, const ClassNames& names) {
  py::list found;
  for (const Detection& one : result) {
    found.append(
        py::cast(DetectionObject{py::make_tuple(one.box.x1, one.box.y1, one.box.x2, one.box.y2),
                                 one.label, names.name(one.label), one.score, one.mask}));
  }
  return found;
}

}  // namespace vig::python
