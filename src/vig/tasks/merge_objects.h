// Objects that windows over a large image find, each once.
//
// Neighbouring windows overlap, so an object near a border is found by several, whole or cut. Two
// objects of different windows are the same if their classes are equal and their masks agree on the
// pixels that both windows see: the intersection is more than half of the union, or, where a window
// border cuts one of them, more than half of the smaller one. Of the same object
//   - one that no window border cuts is kept, the better one of two;
//   - two that are cut become one: masks and boxes are united, the better score is kept.
// An object that only one window finds is kept as it is found. Borders of the image cut nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vig/image/mask.h"
#include "vig/tasks/results.h"
#include "vig/tasks/windows.h"

namespace vig {

// An object of an image of any size.
struct LargeObject {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // its box
  int label = 0;
  float score = 0;
  int64_t mask_x = 0, mask_y = 0;  // pixel of the image where the mask begins
  Mask mask;                       // no larger than its ones; 0 x 0 where there are none

  int64_t bottom() const;  // rows from here on show nothing of it
  bool operator==(const LargeObject&) const = default;
};

// On one line, and back: exactly the same object. Throws Error where the line is none.
std::string object_line(const LargeObject& object);
LargeObject parse_object_line(std::string_view line);

class ObjectMerger {
 public:
  ObjectMerger(int64_t width, int64_t height) : width_(width), height_(height) {}

  // The objects of a window, in its own pixels, best first. Windows come in the order of
  // sliding_windows.
  void add(const InputWindow& window, const Detections& found);
  // Takes those that no window can show that begins at row `y` or below; in the order of windows.
  std::vector<LargeObject> take_above(int64_t y);

  // What is not taken yet, as lines, for a merger that continues.
  std::string state() const;
  void restore(std::string_view state);

 private:
  // A part of a window border, from corner to corner, that cuts an object.
  struct Cut {
    int64_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  };
  struct Open {
    LargeObject object;
    std::vector<InputWindow> windows;  // that it was found in
    std::vector<Cut> cuts;             // that none of them sees from both sides
  };

  bool same(const Open& a, const Open& b) const;
  static Open merged(Open a, Open b);
  static Open united(const Open& a, const Open& b);

  int64_t width_, height_;
  std::vector<Open> open_;
};

}  // namespace vig
