// Networks for the runtime's tests: small, with every parameter random, and helpers to run them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/models/family.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"
#include "vig/weights/load.h"

namespace vig::test {

using Values = std::vector<float>;
using Fields = std::map<std::string, std::string>;

struct NetworkCase {
  std::string name;   // for people
  std::string model;  // of the zoo
  Fields fields;      // over it
  int height = 0;
  int width = 0;
  // Of float against the reference execution, of the largest value. Both round every value to
  // float, in other orders; a few blocks of that stay below this.
  double tolerance = 1e-5;
  Graph (*make)(int height, int width) = nullptr;  // instead of a model

  Graph graph() const;
};
std::ostream& operator<<(std::ostream& out, const NetworkCase& network);

// The zoo's models as they are where small, shrunk otherwise; all ablations; odd sizes; and
// made_networks.h.
const std::vector<NetworkCase>& network_cases();
const NetworkCase& network_case(const std::string& name);

// Norm weights around 1, biases and tables around 0, matrices that keep the size of what they
// multiply: no term is invisible, none drowns the others. Parameter `changed` gets other numbers.
std::shared_ptr<const Weights> lively_weights(const Graph& graph, uint64_t seed, int changed = -1);

// An image whose numbers depend on `seed` alone, about as large as normalised ones.
Values image(int height, int width, uint64_t seed);

struct Network {
  Graph graph;
  std::shared_ptr<const Weights> weights;
  std::shared_ptr<const PackedModel> packed;

  explicit Network(const NetworkCase& description, uint64_t seed = 1,
                   const Precision& precision = {});
  Session session(const SessionOptions& options = {}) const;
  // Numbers for all inputs of the graph, one after the other.
  Values image(uint64_t seed) const;
};

// Whether the value of a node can be kept. What stands before a SwiGLU or a folded batch norm is
// packed together with it and never exists.
bool can_be_kept(const Graph& graph, int node);

// All inputs of the graph, one after the other.
void set_input(Session& session, int image, const Values& values);
Values read_inputs(const Session& session, int image);
Values read_value(const Session& session, int node, int image);
// Every output of the graph, one after the other.
Values read_outputs(const Session& session, int image);
// Puts one image through and reads all outputs.
Values run_alone(Session& session, const Values& pixels);

// The same bits, not only equal numbers; says where they differ first.
void expect_same_bits(const Values& actual, const Values& expected, const std::string& what);

}  // namespace vig::test
