// Random numbers by position instead of by order: each is a pure function of a key and a counter,
// so what is drawn depends neither on threads nor on earlier draws, and resuming needs no saved
// state.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace vig {

// SplitMix64's output function: a bijection that turns a counter into well-mixed bits.
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline uint64_t hash_name(std::string_view name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// 24 bits are what a float holds: in [0, 1) and, for logarithms, (0, 1].
inline float unit_open_above(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }
inline float unit_open_below(uint64_t bits) {
  return static_cast<float>((bits >> 40) + 1) * 0x1p-24f;
}

// A sequence of draws that belongs to a key, such as (seed, epoch, index): make the key with fork.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : key_(mix_bits(seed)) {}

  // An independent stream for one value of a further coordinate.
  RandomStream fork(uint64_t coordinate) const {
    return RandomStream(key_ ^ mix_bits(coordinate + 0x9e3779b97f4a7c15u), 0);
  }
  RandomStream fork(std::string_view purpose) const { return fork(hash_name(purpose)); }

  // The stream of one position of an array, for draws that may have to be repeated.
  RandomStream at(uint64_t position) const { return RandomStream(key_ ^ position, 0); }

  uint64_t bits_at(uint64_t counter) const {
    return mix_bits(key_ + counter * 0x9e3779b97f4a7c15u);
  }

  uint64_t bits() { return bits_at(counter_++); }
  float uniform() { return unit_open_above(bits()); }  // [0, 1)
  // Not inline: a program that includes this may be compiled to fuse the product and the sum.
  float uniform(float low, float high);
  bool chance(double probability) {
    return static_cast<double>(bits() >> 11) * 0x1p-53 < probability;
  }
  // 0 .. count - 1; count > 0 and far below 2^32, so that the bias of the product is nothing.
  uint64_t below(uint64_t count) { return ((bits() >> 32) * count) >> 32; }
  float normal() {
    const float radius = std::sqrt(-2.0f * std::log(unit_open_below(bits())));
    return radius * std::cos(2.0f * std::numbers::pi_v<float> * uniform());
  }

 private:
  RandomStream(uint64_t key, int) : key_(mix_bits(key)) {}

  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace vig
