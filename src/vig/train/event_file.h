// The rows of a run as an event file, which TensorBoard and others read.
//
// The file is a list of records (TFRecord): the length of the data in 8 bytes, the masked CRC-32C
// of these, the data, and its masked CRC-32C, all integers little-endian. The data of the first
// record names the format, "brain.Event:2"; that of each other is a protocol buffer Event:
// wall_time (field 1, double), step (field 2, varint) and summary (field 5), whose values (field 1)
// have a tag (field 1) and a simple_value (field 2, float).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vig/train/metrics.h"

namespace vig::train {

// The polynomial of Castagnoli, 0x82f63b78 in reversed order.
uint32_t crc32c(std::string_view bytes);

// "val/top1" of "val_top1".
std::string event_tag(const std::string& column);

// A function of the rows alone, and a beginning of the file of more rows. The time of a row is its
// seconds of training, so the clock of the run begins with 1970.
std::string event_file(const Columns& columns, const std::vector<MetricsRow>& rows);

// Makes `bytes` the content of a file: by appending where the file is a beginning of them, because
// programs that show a run keep its file open, else as AtomicFile does.
void extend_file(const std::string& path, std::string_view bytes);

}  // namespace vig::train
