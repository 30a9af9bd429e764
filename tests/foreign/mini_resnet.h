// A family that is none of ours, added from outside as docs describe it: the proof that this works.
#pragma once

#include "vig/models/family.h"

namespace vig::test {

Family mini_resnet_family();
Graph make_mini_resnet(int height, int width);  // its smallest model

}  // namespace vig::test
