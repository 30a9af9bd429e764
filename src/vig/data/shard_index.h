// What a tar file of images holds, in a file beside it, so that the tar file is searched once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vig {

// By which a file is known again.
struct ShardStamp {
  uint64_t bytes = 0;
  int64_t modified = 0;  // nanoseconds
  bool operator==(const ShardStamp&) const = default;
};

struct ShardImage {
  uint64_t offset = 0, bytes = 0;  // in the tar file
  std::string name;                // in the tar file
  std::string label;               // see shards.h; empty: none is given
};

struct ShardIndex {
  ShardStamp stamp;
  std::vector<ShardImage> images;  // in the order of the tar file
  uint64_t ignored = 0;            // files that are neither images nor labels
};

// Of the tar file `path`: from PATH.index where that belongs to the tar file as it is now, else
// from the tar file, and PATH.index is written where its folder allows it. An index is not trusted:
// one that is damaged is made again. Throws Error where the tar file is damaged, or compressed, or
// holds links.
ShardIndex index_shard(const std::string& path);

}  // namespace vig
