// One process at a time works in a folder.
#pragma once

#include <string>
#include <string_view>

namespace vig {

// Held until the end of the process, however that comes, or of the scope.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // Throws while another process holds it. `doing` stands in the message: "training". Where folders
  // cannot be locked, the user must take care.
  void take(const std::string& folder, std::string_view doing);

 private:
  int folder_ = -1;
};

}  // namespace vig
