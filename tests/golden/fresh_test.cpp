// Initial values that follow from a formula, against those of the original code.
#include <gtest/gtest.h>

#include <cmath>

#include "support/peers.h"
#include "vig/verify/golden_case.h"
#include "vig/weights/elements.h"
#include "vig/weights/load.h"

namespace vig::test {
namespace {

// What a fresh model has of this name.
std::vector<float> fresh(const ModelSpec& spec, const std::string& name) {
  const int size = spec.recipe.crop;
  for (const ParamSpec& param : build_graph(spec, size, size).params) {
    if (param.name != name) continue;
    std::vector<float> values(static_cast<size_t>(param.shape.elements()));
    fill_random(param, 1, values.data());
    return values;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

// No training has changed the tables of a case: they are stored as the original code made them.
TEST(Fresh, RotaryTablesAreTheOriginals) {
  const GoldenCase golden =
      open_golden_case((peers_in_tree() / "localvim_rect.safetensors").string());
  for (const char* name : {"rope.freqs_cos", "rope.freqs_sin"}) {
    const std::vector<float> want = to_floats(golden.tensor(std::string("param/") + name));
    const std::vector<float> found = fresh(golden.spec, name);
    ASSERT_EQ(found.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(found[i], want[i], 2e-6) << name << i;
  }
}

// HiPPO of 64 states: the imaginary parts of its eigenvalues, as the original code prints them.
TEST(Fresh, StateSpacesAreHippo) {
  const ModelSpec spec = find_model("s4nd_b");
  const std::string kernel = "blocks.4.layer.kernel.0.";
  const std::vector<float> a_imag = fresh(spec, kernel + "A_imag");
  ASSERT_EQ(a_imag.size(), 32u);
  EXPECT_NEAR(a_imag[0], 1303.27, 0.005);
  EXPECT_NEAR(a_imag[1], 433.03, 0.005);
  EXPECT_NEAR(a_imag[2], 258.15, 0.005);
  EXPECT_NEAR(a_imag[31], 0.264, 0.0005);
  for (const float a_real : fresh(spec, kernel + "A_real")) EXPECT_NEAR(a_real, -0.693147, 1e-6);
  // The eigenvectors are orthonormal, so lengths stay: of p, sum over i < 64 of i + 1/2.
  double length = 0.0;
  for (const float part : fresh(spec, kernel + "P")) length += 2.0 * part * part;
  EXPECT_NEAR(length, 64.0 * 64.0 / 2.0, 0.01);
  for (size_t i = 0; const float part : fresh(spec, kernel + "B")) {
    if (i++ % 2 == 1) {
      EXPECT_LE(std::fabs(part), 2.0f);
    }
  }
  for (const float step : fresh(spec, kernel + "inv_dt")) {
    EXPECT_GE(step, std::log(0.001f) - 1e-6f);
    EXPECT_LE(step, std::log(0.1f));
  }
}

}  // namespace
}  // namespace vig::test
