// Runs golden cases through the real graph and runtime and compares.
#pragma once

#include <string>
#include <vector>

namespace vig {

// One tensor of a case against the engine's.
struct TensorCheck {
  std::string name;  // "output", "act/blocks.0.attn", "o"
  // Largest absolute difference; infinite when a number is not finite. Of classes and masks: how
  // many differ.
  double error = 0;
  double largest = 0;   // of the reference; of classes and masks: how many there are
  double relative = 0;  // error / largest
  bool within = false;  // relative is at most the tolerance
};

TensorCheck compare_values(const std::string& name, const std::vector<float>& expected,
                           const std::vector<float>& found, double tolerance);

struct CaseReport {
  std::string file;
  std::string kind;  // a family, "scan" or "operator"
  std::vector<TensorCheck> tensors;
  std::string skipped;  // why there is nothing that the engine could be compared with; else empty

  bool passed() const;
};

struct VerifyOptions {
  double tolerance = 1e-4;  // of the reference's largest value
  int threads = 0;
};

// Throws when the case cannot be checked in full: unreadable, a parameter missing, a module that
// the network does not have, a tensor of another shape.
CaseReport verify_case(const std::string& file, const VerifyOptions& options = {});

}  // namespace vig
