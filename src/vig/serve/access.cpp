#include "vig/serve/access.h"

#include <algorithm>

#include "vig/serve/same_text.h"

namespace vig {
namespace {

// Equal in a time that does not show how many letters are right.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(a[i] ^ b[i % std::max<size_t>(b.size(), 1)]);
  }
  return different == 0;
}

}  // namespace

bool names_this_machine(std::string host) {
  if (host.empty()) return true;  // HTTP/1.0
  std::ranges::transform(host, host.begin(), lower);
  if (const size_t port = host.rfind(':'); port != host.npos && host.find(']', port) == host.npos) {
    host.resize(port);
  }
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

bool is_of_this_machine(const std::string& origin) {
  constexpr std::string_view kScheme = "http://";
  return origin.empty() ||
         (origin.starts_with(kScheme) && names_this_machine(origin.substr(kScheme.size())));
}

bool shows_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kBearer = "bearer ";
  return same_text(authorization.substr(0, kBearer.size()), kBearer) &&
         same_secret(authorization.substr(kBearer.size()), token);
}

}  // namespace vig
