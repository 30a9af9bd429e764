#include "vig/pipeline/explainer.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/pipeline/run_images.h"
#include "vig/runtime/packed_model.h"
#include "vig/tasks/classification.h"
#include "vig/tasks/explanation.h"

namespace vig {
namespace {

// The classifier of a graph whose logits are linear in the mean of the output "features"; throws
// for others.
const Node& linear_classifier(const Graph& graph, const std::string& model) {
  const int logits = graph.find_output("logits"), features = graph.find_output("features");
  if (logits >= 0 && features >= 0) {
    const Node& head = graph.node(logits);
    if (std::holds_alternative<LinearOp>(head.op)) {
      const Node& pooled = graph.node(head.inputs[0]);
      if (std::holds_alternative<MeanPoolOp>(pooled.op) && pooled.inputs[0] == features) {
        return head;
      }
    }
  }
  fail_usage(
      "{} has no exact evidence: its classifier is not linear in the mean of its tokens; "
      "--at X,Y shows attention",
      model);
}

// The operations that mix tokens by attention that can be shown, in the order of layers.
std::vector<int> attention_nodes(const Graph& graph) {
  std::vector<int> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Op& op = graph.nodes[i].op;
    if (std::holds_alternative<GlaOp>(op) || std::holds_alternative<AttentionOp>(op)) {
      nodes.push_back(static_cast<int>(i));
    }
  }
  return nodes;
}

int heads_of(const Op& op) {
  if (const auto* gla = std::get_if<GlaOp>(&op)) return gla->heads;
  return std::get<AttentionOp>(op).heads;
}

int chosen_node(const Graph& graph, const std::string& model,
                const Explainer::AttentionRequest& request) {
  const std::vector<int> nodes = attention_nodes(graph);
  if (nodes.empty()) {
    fail_usage("{} has no layer of gated linear or softmax attention to show", model);
  }
  const int layers = static_cast<int>(nodes.size());
  if (request.layer < -1 || request.layer >= layers) {
    fail_usage("layer {} of {}, expected 0 to {}", request.layer, model, layers - 1);
  }
  const int node = nodes[static_cast<size_t>(request.layer < 0 ? layers - 1 : request.layer)];
  const int heads = heads_of(graph.node(node).op);
  if (request.head < -1 || request.head >= heads) {
    fail_usage("head {} of {}, expected 0 to {}", request.head, model, heads - 1);
  }
  return node;
}

// Where the rows of the image's grid stand in a sequence, and the grid: a class token is a row
// besides them.
struct TokenGrid {
  int height = 0, width = 0;
  std::vector<int64_t> rows;
};

TokenGrid token_grid(const Graph& graph, const Grid& sequence) {
  // A position table says where the extra rows of a sequence of its length are.
  for (const Node& node : graph.nodes) {
    const auto* position = std::get_if<AddPositionOp>(&node.op);
    if (position == nullptr || position->extra.empty()) continue;
    if (node.grid.positions() != sequence.positions()) continue;
    return {position->height, position->width, sequence_cells(*position)};
  }
  TokenGrid grid{sequence.height, sequence.width, {}};
  for (int64_t row = 0; row < sequence.positions(); ++row) grid.rows.push_back(row);
  return grid;
}

using Direction = Explainer::Direction;

// Throws where the layer has no such direction.
void check_direction(const Op& op, Direction direction, const std::string& model) {
  const auto* gla = std::get_if<GlaOp>(&op);
  if (direction == Direction::kBoth || (gla != nullptr && gla_directions(*gla) == 2)) return;
  fail_usage("the layer of {} does not scan in two directions that could be shown apart", model);
}

// The weights of one head for the token in row `query`, times the lengths of the values.
std::vector<float> head_weights(const Session& session, int image, int node, int head,
                                int64_t query, Direction direction) {
  const Graph& graph = session.graph();
  const Node& mixing = graph.node(node);
  const Grid& grid = graph.node(mixing.inputs[0]).grid;
  const float* const qkv = session.value(mixing.inputs[0], image);
  std::vector<float> weights;
  if (const auto* op = std::get_if<GlaOp>(&mixing.op)) {
    const int64_t keys = int64_t{op->heads} * op->key_dim;
    GlaTokens tokens;
    tokens.tokens = grid.positions();
    tokens.key_dim = op->key_dim;
    tokens.value_dim = op->value_dim;
    tokens.q = qkv + int64_t{head} * op->key_dim;
    tokens.k = tokens.q + keys;
    tokens.v = qkv + 2 * keys + int64_t{head} * op->value_dim;
    tokens.stride = grid.channels;
    const float* const gates = session.value(mixing.inputs[1], image) + int64_t{head} * op->key_dim;
    tokens.gate_stride = graph.node(mixing.inputs[1]).grid.channels;
    if (op->direction != GlaDirection::kBackward) tokens.forward_gates = gates;
    if (op->direction != GlaDirection::kForward) {
      tokens.backward_gates = gates + (op->direction == GlaDirection::kBoth ? keys : 0);
    }
    if (direction == Direction::kForward) tokens.backward_gates = nullptr;
    if (direction == Direction::kBackward) tokens.forward_gates = nullptr;
    weights = gla_weights(tokens, query);
    scale_by_norms(weights, tokens.v, op->value_dim, tokens.stride);
    return weights;
  }
  const int64_t dim = grid.channels / 3 / std::get<AttentionOp>(mixing.op).heads;
  SoftmaxTokens tokens;
  tokens.tokens = grid.positions();
  tokens.head_dim = dim;
  tokens.q = qkv + head * dim;
  tokens.k = tokens.q + grid.channels / 3;
  tokens.stride = grid.channels;
  weights = softmax_weights(tokens, query);
  scale_by_norms(weights, tokens.k + grid.channels / 3, dim, tokens.stride);
  return weights;
}

}  // namespace

std::vector<int> attention_heads(const Graph& graph) {
  std::vector<int> heads;
  for (const int node : attention_nodes(graph)) heads.push_back(heads_of(graph.node(node).op));
  return heads;
}

Explainer::Explainer(const ModelRequest& model, const RunOptions& options)
    : Explainer(find_source(model), options) {}

Explainer::Explainer(const ModelSource& source, const RunOptions& options)
    : runner_(std::make_shared<const Runner>(require_weights(source), options)) {}

Explainer::Explainer(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

void Explainer::evidence(const SampleSource& images, const EvidenceRequest& request,
                         const HandleResults<Evidence>& handle, int size) const {
  linear_classifier(runner_->graph(), runner_->name());
  const int last = model_classes(runner_->spec()) - 1;
  for (const int label : {request.about, request.against}) {
    if (label < -1 || label > last) {
      fail_usage("class {} of {}, expected 0 to {}", label, runner_->name(), last);
    }
  }
  const auto decode = [&](const Session& session, int image) -> Evidence {
    const Graph& graph = session.graph();
    const Node& head = linear_classifier(graph, runner_->name());
    const Grid& grid = graph.node(graph.find_output("features")).grid;
    const auto classes = static_cast<size_t>(head.grid.channels);
    const std::span logits(session.output("logits", image), classes);
    const std::vector<ClassScore> scores =
        decode_classes(logits, static_cast<int>(classes), runner_->classes(),
                       runner_->confidence().temperature)
            .scores;
    const auto score = [&](int label) {
      return *std::ranges::find_if(scores, [&](const ClassScore& s) { return s.index == label; });
    };
    const auto map = [&](int label) {
      const float* const weight = session.model()->weight(head.params[0]);
      const float bias =
          head.params.size() > 1 ? session.model()->weight(head.params[1])[label] : 0.0f;
      const std::span row(weight + int64_t{label} * grid.channels,
                          static_cast<size_t>(grid.channels));
      return evidence_map(session.output("features", image), grid.height, grid.width, row, bias);
    };
    Evidence evidence;
    evidence.about = request.about < 0 ? scores.front() : score(request.about);
    evidence.map = map(evidence.about.index);
    if (request.against >= 0) {
      evidence.against = score(request.against);
      evidence.map = difference(evidence.map, map(request.against));
    }
    return evidence;
  };
  run_images<Evidence>(*runner_, images, size, decode, handle);
}

void Explainer::attention(const SampleSource& images, const AttentionRequest& request,
                          const HandleResults<LayerAttention>& handle, int size) const {
  const int node = chosen_node(runner_->graph(), runner_->name(), request);
  const auto inside = [](double value) { return value >= 0 && value <= 1; };
  if (!inside(request.x) || !inside(request.y)) {
    fail_usage("a position at {}, {} of the network's input, expected 0 to 1", request.x,
               request.y);
  }
  check_direction(runner_->graph().node(node).op, request.direction, runner_->name());
  const Runner keeping = runner_->keeping(runner_->graph().node(node).inputs);
  const auto decode = [&](const Session& session, int image) -> LayerAttention {
    const Graph& graph = session.graph();
    const TokenGrid grid = token_grid(graph, graph.node(graph.node(node).inputs[0]).grid);
    LayerAttention attention;
    const std::vector<int> nodes = attention_nodes(graph);
    attention.layer = static_cast<int>(std::ranges::find(nodes, node) - nodes.begin());
    attention.head = request.head;
    attention.row = std::min(static_cast<int>(request.y * grid.height), grid.height - 1);
    attention.column = std::min(static_cast<int>(request.x * grid.width), grid.width - 1);
    const auto cell = static_cast<size_t>(attention.row) * static_cast<size_t>(grid.width) +
                      static_cast<size_t>(attention.column);
    const int heads = heads_of(graph.node(node).op);
    const int first = request.head < 0 ? 0 : request.head;
    const int last = request.head < 0 ? heads : request.head + 1;
    const auto map_of = [&](Direction direction) {
      std::vector<double> sums(grid.rows.size());
      for (int head = first; head < last; ++head) {
        const std::vector<float> weights =
            head_weights(session, image, node, head, grid.rows[cell], direction);
        for (size_t t = 0; t < sums.size(); ++t) {
          sums[t] += weights[static_cast<size_t>(grid.rows[t])];
        }
      }
      TokenMap map{grid.height, grid.width, {}};
      for (const double sum : sums) {
        if (!std::isfinite(sum)) fail("the network's outputs are not finite");
        map.values.push_back(static_cast<float>(sum / (last - first)));
      }
      return map;
    };
    const bool all = request.direction == Direction::kAll;
    attention.map = map_of(all ? Direction::kBoth : request.direction);
    if (all) attention.directions = {map_of(Direction::kForward), map_of(Direction::kBackward)};
    return attention;
  };
  run_images<LayerAttention>(keeping, images, size, decode, handle);
}

}  // namespace vig
