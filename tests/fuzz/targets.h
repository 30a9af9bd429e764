// One function for every parser of untrusted input: it reads `bytes` as such a file. Each ends
// in success or in vig::Error; anything else is a finding. tools/fuzz.sh runs them with libFuzzer,
// regressions_test.cpp on what was found before.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vig::fuzz {

using Bytes = std::span<const uint8_t>;

// Each is defined in NAME_fuzz.cpp.
void run_avif(Bytes bytes);
void run_bmp(Bytes bytes);
void run_class_names(Bytes bytes);
void run_coco(Bytes bytes);
void run_csv_list(Bytes bytes);
void run_exif(Bytes bytes);
void run_gif(Bytes bytes);
void run_golden(Bytes bytes);
void run_gzip(Bytes bytes);
void run_heic(Bytes bytes);
void run_http(Bytes bytes);
void run_jpeg(Bytes bytes);
void run_label_map(Bytes bytes);
void run_mask_text(Bytes bytes);
void run_metadata(Bytes bytes);
void run_network(Bytes bytes);
void run_pair_list(Bytes bytes);
void run_pickle(Bytes bytes);
void run_png(Bytes bytes);
void run_pnm(Bytes bytes);
void run_regions(Bytes bytes);
void run_request_form(Bytes bytes);
void run_request_json(Bytes bytes);
void run_request_query(Bytes bytes);
void run_safetensors(Bytes bytes);
void run_tar(Bytes bytes);
void run_tiff(Bytes bytes);
void run_torch_legacy(Bytes bytes);
void run_torch_zip(Bytes bytes);
void run_webp(Bytes bytes);
void run_zip(Bytes bytes);

// Throws std::logic_error, which no parser may: a finding.
void check(bool holds, const char* what);

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace vig::fuzz
