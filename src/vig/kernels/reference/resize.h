// Reference implementation of kernels/resize.h: resizes the whole image with plain loops, then
// cuts the window.
#pragma once

#include "vig/kernels/resize.h"

namespace vig::reference {

void resize_rgb(const uint8_t* src, const ResizeAxis& x, const ResizeAxis& y,
                Interpolation interpolation, uint8_t* dst);

}  // namespace vig::reference
