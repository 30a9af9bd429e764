// Whether hosts train on the same files.
#pragma once

#include <string>

#include "vig/data/image_files.h"

namespace vig::train {

// A short text that differs, almost surely, where a file behind the samples has another size or is
// not there, or where one of 64 sampled blocks of 64 KB holds other bytes. Samples may lie in
// archives.
std::string contents_mark(const SampleSource& source);

}  // namespace vig::train
