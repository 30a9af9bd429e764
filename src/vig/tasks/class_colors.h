// Colours of classes and objects in drawings.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vig/image/label_file.h"

namespace vig {

// Colours that are easily distinguished, neighbours most of all; the same number gives the same
// colour everywhere.
Color class_color(size_t label);

// One colour per class. A class whose name is a common word of scenes (sky, tree, road, ...) has
// the colour that people expect, or a shade of it where another class has it already. All others
// have class_color, or a further one of its sequence where that resembles the colour of a name.
// A class has the same colour in a longer palette of the same names.
std::vector<Color> class_palette(size_t classes, std::span<const std::string> names = {});

}  // namespace vig
