// The letters that draw_text draws, of our own design.
#pragma once

#include <array>

namespace vig {

// Rows from the top, one digit for each: 0 to v are the numbers 0 to 31, whose five bits are the
// dots of a row, the leftmost first. Seven rows stand on the line, two hang below it. From the
// space on in the order of ASCII; the last is for characters that are none of them.
inline constexpr std::array<const char*, 96> kFontRows = {
    // clang-format off
    "000000000", "444440400", "aa0000000", "aavavaa00", "4fke5u400", "pp248jj00",  // !"#$%
    "cik8lid00", "440000000", "244444200", "844444800", "04lel4000", "044v44000",  // &'()*+
    "000000648", "000v00000", "00000cc00", "11248gg00", "ehjlphe00", "4c4444e00",  // ,-./01
    "eh1248v00", "v24e1he00", "26aiv2200", "vgu11he00", "68guhhe00", "v12244400",  // 234567
    "ehhehhe00", "ehhf12c00", "0cc00cc00", "066006648", "124842100", "00v0v0000",  // 89:;<=
    "g84248g00", "eh1240400", "ehnlngf00", "ehhvhhh00", "uhhuhhu00", "ehggghe00",  // >?@ABC
    "uhhhhhu00", "vgguggv00", "vgguggg00", "ehgnhhf00", "hhhvhhh00", "e44444e00",  // DEFGHI
    "72222ic00", "hikokih00", "ggggggv00", "hrllhhh00", "hplljhh00", "ehhhhhe00",  // JKLMNO
    "uhhuggg00", "ehhhlid00", "uhhukih00", "fgge11u00", "v44444400", "hhhhhhe00",  // PQRSTU
    "hhhhaa400", "hhhllrh00", "hha4ahh00", "hha444400", "v1248gv00", "e88888e00",  // VWXYZ[
    "gg8421100", "e22222e00", "4ah000000", "0000000v0", "840000000", "00e1fhf00",  // backslash ]^_`a
    "gguhhhu00", "00ehghe00", "11fhhhf00", "00ehvge00", "698u88800", "00fhhhf1e",  // bcdefg
    "gguhhhh00", "40c444e00", "20622222c", "ggikoki00", "c44444e00", "00qlllh00",  // hijklm
    "00uhhhh00", "00ehhhe00", "00uhhhugg", "00fhhhf11", "00mpggg00", "00fge1u00",  // nopqrs
    "88u889600", "00hhhhf00", "00hhha400", "00hhlla00", "00ha4ah00", "00hhhhf1e",  // tuvwxy
    "00v248v00", "344844300", "444444400", "o44244o00", "009li0000", "vhhhhhv00",  // z{|}~
    // clang-format on
};

}  // namespace vig
