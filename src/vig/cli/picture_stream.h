// Pictures that come through a pipe: standard input, or a pipe or device named on the command line.
#pragma once

#include <string>

#include "vig/pipeline/pictures.h"

namespace vig::cli {

inline constexpr const char* kStandardInput = "-";

// Anything but a regular file or a folder: it can be read once, and its writer may keep us waiting.
bool is_stream(const std::string& name);

// The writer was waited for in vain.
struct StreamInterrupted {};

// As read_picture, a stream that is no good comes back with its error. Waits for the writer until
// the end of the stream; throws StreamInterrupted when the program is interrupted() meanwhile.
Picture read_streamed_picture(const std::string& name, const Recipe& recipe,
                              const DecodeOptions& options);

}  // namespace vig::cli
