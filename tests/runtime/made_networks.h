// Networks of operations that no model of the zoo has, or has in this form, for the runtime's and
// training's tests. Each has an output "logits".
#pragma once

#include "vig/graph/graph.h"

namespace vig::test {

// Convolutions of every shape, batch norms folded and not, max pooling, ReLU.
Graph make_convolutions(int height, int width);
// A class token at the front, in the middle or at both ends of a sequence, with a position table
// that has rows for the tokens and another grid than the image.
Graph make_front_token(int height, int width);
Graph make_middle_token(int height, int width);
Graph make_end_tokens(int height, int width);
// Selective scans along every kind of path, with every way to take their operands.
Graph make_scans(int height, int width);
// An image and a map of other channels and half its size; outputs at three strides; weights that
// two operations share.
Graph make_two_inputs(int height, int width);
// Deformable attention from one map to three and back.
Graph make_deformable(int height, int width);

// Maps of a pyramid: resizing up and down, pooling to cells, doubling by transposed convolutions,
// channels of several maps, rows of a table, channels that training drops.
Graph make_maps(int height, int width);
// A layer over all of a small grid, with channels of ugly numbers.
Graph make_grid_layer(int height, int width);

}  // namespace vig::test
