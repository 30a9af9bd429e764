#include "vig/serve/request_body.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "vig/base/printable.h"
#include "vig/serve/http_error.h"
#include "vig/serve/same_text.h"

namespace vig {
namespace {

constexpr size_t kMostOptions = 32;
constexpr size_t kLongestOption = 1024;  // bytes of a value

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The name before the first semicolon.
std::string_view media_type(std::string_view header) {
  return trimmed(header.substr(0, header.find(';')));
}

// A parameter of a header such as `form-data; name="a"; filename="b.jpg"`. Quotes inside a quoted
// value are escaped by a backslash.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  size_t at = header.find(';');
  while (at != std::string_view::npos) {
    std::string_view rest = trimmed(header.substr(at + 1));
    const size_t equal = rest.find('=');
    const size_t end_of_name = std::min(rest.find(';'), rest.size());
    if (equal == std::string_view::npos || equal > end_of_name) {
      at = header.find(';', at + 1);
      continue;
    }
    const std::string_view key = trimmed(rest.substr(0, equal));
    std::string_view value = rest.substr(equal + 1);
    std::string text;
    size_t used = 0;
    if (!value.empty() && value.front() == '"') {
      used = 1;
      while (used < value.size() && value[used] != '"') {
        if (value[used] == '\\' && used + 1 < value.size()) ++used;
        text += value[used++];
      }
      ++used;
    } else {
      used = std::min(value.find(';'), value.size());
      text = std::string(trimmed(value.substr(0, used)));
    }
    if (same_text(key, name)) return text;
    const size_t next = static_cast<size_t>(value.data() - header.data()) + used;
    at = next < header.size() ? header.find(';', next) : std::string_view::npos;
  }
  return std::nullopt;
}

void add_option(std::map<std::string, std::string>& options, const std::string& name,
                std::string value) {
  if (value.size() > kLongestOption) {
    bad_request("option {} has {} bytes, expected at most {} (a fixed limit)", printable(name, 40),
                value.size(), kLongestOption);
  }
  if (options.size() == kMostOptions)
    bad_request("more than {} options (a fixed limit)", kMostOptions);
  if (!options.emplace(name, std::move(value)).second) {
    bad_request("option {} is given twice", printable(name, 40));
  }
}

[[noreturn]] void too_many_images(size_t most) {
  throw HttpError(413, "too_many_images",
                  fmt::format("more than {} images (raise the limit with --images)", most));
}

void add_image(RequestBody& request, std::string name, std::string_view bytes, size_t most) {
  if (request.images.size() == most) too_many_images(most);
  request.images.push_back({std::move(name), bytes});
}

std::string image_name(const std::optional<std::string>& file, size_t number) {
  if (!file) return fmt::format("image {}", number);
  const size_t slash = file->find_last_of("/\\");
  const std::string name = slash == std::string::npos ? *file : file->substr(slash + 1);
  return name.empty() ? fmt::format("image {}", number) : printable(name, 200);
}

// The headers of a part by name, and what follows them. Throws where the part has no end of
// headers.
struct Part {
  std::string disposition;
  std::string_view content;
};

Part read_part(std::string_view part) {
  constexpr size_t kLongestHeaders = 8192;
  const size_t end = part.substr(0, kLongestHeaders).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    bad_request("a part of the form has no end of its headers within {} bytes (a fixed limit)",
                kLongestHeaders);
  }
  Part result;
  result.content = part.substr(end + 4);
  std::string_view headers = part.substr(0, end);
  while (!headers.empty()) {
    const size_t line_end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, line_end);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos &&
        same_text(trimmed(line.substr(0, colon)), "content-disposition")) {
      result.disposition = std::string(trimmed(line.substr(colon + 1)));
    }
    headers.remove_prefix(std::min(line_end + 2, headers.size()));
  }
  return result;
}

RequestBody read_multipart(std::string_view content_type, std::string_view body, size_t most) {
  const std::optional<std::string> boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 70) {
    bad_request("a form without a boundary of 1 to 70 characters");
  }
  const std::string delimiter = "--" + *boundary;
  RequestBody request;
  if (!body.starts_with(delimiter)) bad_request("the form does not begin with its boundary");
  body.remove_prefix(delimiter.size());
  const std::string next = "\r\n" + delimiter;
  while (!body.starts_with("--")) {
    if (!body.starts_with("\r\n")) bad_request("a boundary of the form does not end its line");
    body.remove_prefix(2);
    const size_t end = body.find(next);
    if (end == std::string_view::npos) bad_request("the form has no last boundary");
    const Part part = read_part(body.substr(0, end));
    body.remove_prefix(end + next.size());
    const std::optional<std::string> file = parameter(part.disposition, "filename");
    const std::optional<std::string> name = parameter(part.disposition, "name");
    if (file || !name || *name == "image") {
      add_image(request, image_name(file, request.images.size() + 1), part.content, most);
    } else {
      add_option(request.options, *name, std::string(part.content));
    }
  }
  return request;
}

// {"image": TEXT, "images": [TEXT, ...], OPTION: TEXT, NUMBER or BOOLEAN}, read in one pass:
// what is anything else is refused where it stands, so that memory stays in proportion to the body.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(size_t most_images) : most_images_(most_images) {}

  RequestBody take() {
    for (size_t i = 0; i < request_.decoded.size(); ++i) {
      add_image(request_, image_name(std::nullopt, i + 1), request_.decoded[i], most_images_);
      request_.images.back().error = errors_[i];
    }
    return std::move(request_);
  }

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(fmt::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(fmt::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text); }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& text) override {
    if (depth_ == 0) return false;
    const bool list = depth_ == 2;
    if (!list && key_ != "image") {
      if (key_ == "images") bad_request("images is not a list");
      add_option(request_.options, key_, std::move(text));
      return true;
    }
    if (request_.decoded.size() == most_images_) too_many_images(most_images_);
    request_.decoded.emplace_back();
    errors_.emplace_back();
    try {
      request_.decoded.back() = decode_base64(text);
    } catch (const HttpError& error) {  // of this image, not of the others
      errors_.back() = error.what();
    }
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ > 0) bad_request("{} is an object, expected a text or a number", shown_key());
    depth_ = 1;
    return true;
  }
  bool key(string_t& text) override {
    key_ = std::move(text);
    bool& given = key_ == "image" ? has_image_ : has_images_;
    if ((key_ == "image" || key_ == "images") && std::exchange(given, true)) {
      bad_request("{} is given twice", key_);
    }
    return true;
  }
  bool end_object() override {
    depth_ = 0;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 1 || key_ != "images") {
      bad_request("{} is a list, expected an object with a list of images", shown_key());
    }
    depth_ = 2;
    return true;
  }
  bool end_array() override {
    depth_ = 1;
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::json::exception&) override {
    bad_request("the body is not JSON from byte {} on", byte);
  }

 private:
  std::string shown_key() const { return depth_ == 0 ? "the body" : printable(key_, 40); }
  bool scalar(std::string text) {
    if (depth_ == 0) return false;
    if (depth_ == 2 || key_ == "image" || key_ == "images" || text == "null") {
      bad_request("{} is {}, expected a text{}", shown_key(), printable(text, 40),
                  text == "null" ? " or a number" : " in base64");
    }
    add_option(request_.options, key_, std::move(text));
    return true;
  }

  const size_t most_images_;
  RequestBody request_;
  std::string key_;
  std::vector<std::string> errors_;  // of request_.decoded
  bool has_image_ = false, has_images_ = false;
  int depth_ = 0;  // 1: in the object, 2: in the list of images
};

RequestBody read_json(std::string_view body, size_t most) {
  if (body.find('\0') != std::string_view::npos) bad_request("the body is not JSON");
  JsonReader reader(most);
  if (!nlohmann::json::sax_parse(body, &reader)) bad_request("the body is not a JSON object");
  return reader.take();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) bad_request("the query has a broken escape");
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

}  // namespace

std::string decode_base64(std::string_view text) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static const std::array<int8_t, 256> values = [] {
    std::array<int8_t, 256> table;
    table.fill(-1);
    for (size_t i = 0; i < kAlphabet.size(); ++i) {
      table[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
    }
    return table;
  }();
  // As pages send it: data:image/png;base64,...
  if (text.starts_with("data:")) {
    const size_t comma = text.substr(0, 200).find(";base64,");
    if (comma == std::string_view::npos) bad_request("a data URI that is not base64");
    text.remove_prefix(comma + 8);
  }
  if (text.size() % 4 != 0) {
    bad_request("base64 of {} characters, expected a multiple of 4", text.size());
  }
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    const size_t missing = i + 4 == text.size() ? padding : 0;
    for (size_t j = 0; j < 4; ++j) {
      const int value = j >= 4 - missing ? 0 : values[static_cast<uint8_t>(text[i + j])];
      if (value < 0) bad_request("character {} is not base64", i + j);
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (size_t j = 0; j < 3 - missing; ++j) {
      bytes += static_cast<char>(group >> (16 - 8 * j) & 255);
    }
  }
  return bytes;
}

std::map<std::string, std::string> read_query(std::string_view query) {
  std::map<std::string, std::string> options;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equal = std::min(pair.find('='), pair.size());
    add_option(options, unescaped(pair.substr(0, equal)),
               unescaped(pair.substr(std::min(equal + 1, pair.size()))));
  }
  return options;
}

RequestBody read_request_body(std::string_view content_type, std::string_view body,
                              size_t most_images) {
  const std::string_view type = media_type(content_type);
  if (same_text(type, "multipart/form-data")) {
    return read_multipart(content_type, body, most_images);
  }
  if (same_text(type, "application/json")) return read_json(body, most_images);
  const bool raw = type.empty() || same_text(type, "application/octet-stream") ||
                   same_text(type.substr(0, 6), "image/") ||
                   same_text(type, "application/x-www-form-urlencoded");  // what curl says
  if (!raw) {
    throw HttpError(415, "unsupported_type",
                    fmt::format("{} is none of image/..., multipart/form-data and application/json",
                                printable(std::string(type), 100)));
  }
  RequestBody request;
  if (!body.empty()) add_image(request, "image", body, most_images);
  return request;
}

}  // namespace vig
