// The closed set of operations a network is made of. A value is a grid of channel vectors,
// [batch, height, width, channels] with channels last; the batch is chosen by the executor of the
// graph. A sequence is a grid read row by row, so a token layer and a 1x1 convolution are the same.
//
// Every operation is plain: what runs fused is decided by fuse.h. `Op` is a std::variant visited
// without a default branch, so an executor that misses an operation does not compile.
//
// Operations are equal when they do the same to images of any size: the fields that follow from
// the size of the image are not compared.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "vig/base/elementwise.h"
#include "vig/graph/dense_ops.h"

namespace vig {

// Orders in which the positions of a grid become a sequence: see scan_path.h.
enum class ScanOrder {
  kRows,          // row by row
  kColumns,       // column by column
  kSnakeRows,     // row by row, every second one from its end
  kSnakeColumns,  // the same by columns
  kWindows,       // windows of `part` x `part` positions row by row, inside them row by row
  kSubgrid,       // one of four: every second row and column, see scan_rows
};

struct ScanPath {
  ScanOrder order = ScanOrder::kRows;
  bool backward = false;
  int part = 0;  // of windows: their side; of subgrids: which
  // A class token: row `token` of the sequence, which is at index `token` of every path. The other
  // rows are a grid of `columns` columns. -1: all rows are the grid.
  int token = -1;
  int columns = 0;
  bool operator==(const ScanPath&) const = default;
};

// What the caller sets before the run, such as the image normalised by the recipe.
struct InputOp {
  std::string name;
  bool operator==(const InputOp&) const = default;
};

// Windows of `kernel` x `kernel` positions, `stride` apart, over a grid with lines and columns of
// padding around it. kSamePadding makes ceil(size / stride) windows; of an odd number of lines the
// larger half comes behind the grid, as TensorFlow pads.
inline constexpr int kSamePadding = -1;
// As many windows, with all padding behind the grid.
inline constexpr int kEndPadding = -2;

// Cross-correlation with zero padding. The channels are split into `groups`, each convolved by
// itself. weight [out, in / groups, kernel, kernel], optional bias [out].
struct ConvOp {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  int groups = 1;
  bool operator==(const ConvOp&) const = default;
};

// Whether it is the same as a linear layer.
inline bool is_linear(const ConvOp& op) {
  return op.kernel == 1 && op.stride == 1 && op.padding <= 0 && op.groups == 1;
}

// One filter per channel. weight [channels, 1, kernel, kernel], optional bias [channels].
struct DepthwiseConvOp {
  int kernel = 3;
  int stride = 1;
  int padding = 1;
  bool operator==(const DepthwiseConvOp&) const = default;
};

// The largest value of each window, per channel; padding is never the largest.
struct MaxPoolOp {
  int kernel = 2;
  int stride = 2;
  int padding = 0;
  bool operator==(const MaxPoolOp&) const = default;
};

// How many windows fit, and the lines of padding before the first position.
int window_count(int size, int kernel, int stride, int padding);
int window_padding(int size, int kernel, int stride, int padding);

// y = x W^T + b. weight [out, in] (or [.., in], read as that), optional bias [out]. The outputs are
// split into `groups`; group g reads the channels from `first` + g `group_stride` on.
struct LinearOp {
  int groups = 1;
  int first = 0;
  int group_stride = 0;
  bool operator==(const LinearOp&) const = default;
};

// Over channels: (x - mean) / sqrt(var + eps) * weight + bias.
struct LayerNormOp {
  float eps = 1e-5f;
  bool operator==(const LayerNormOp&) const = default;
};

// x / sqrt(mean(x^2) + eps) * weight, over each of `groups` equal parts of the channels; the weight
// (channels / groups) is shared by the groups.
struct RmsNormOp {
  float eps = 1e-6f;
  int groups = 1;
  bool operator==(const RmsNormOp&) const = default;
};

// (x - running_mean) / sqrt(running_var + eps) * weight + bias, a number of each per channel. The
// running statistics are parameters that no gradient changes. Training normalises by the statistics
// of the batch instead and moves the running ones by `momentum` towards them.
struct BatchNormOp {
  float eps = 1e-5f;
  float momentum = 0.1f;
  bool operator==(const BatchNormOp&) const = default;
};

struct ActivationOp {
  Elementwise function = Elementwise::kSilu;
  bool operator==(const ActivationOp&) const = default;
};

// Elementwise sum of two values of the same grid. Of a residual one the second operand is a branch
// that training leaves out with this probability (stochastic depth).
struct AddOp {
  bool residual = false;
  double drop_rate = 0;
  bool operator==(const AddOp&) const = default;
};

// Elementwise product.
struct MulOp {
  bool operator==(const MulOp&) const = default;
};

// Inputs x, gate: x times a row of channels, a 1 x 1 grid, the same for all positions of the
// image (squeeze-excite).
struct ChannelGateOp {
  bool operator==(const ChannelGateOp&) const = default;
};

// x * weight, a vector over channels (layer scale).
struct ScaleOp {
  bool operator==(const ScaleOp&) const = default;
};

// A row of a position table that belongs to no position of the grid, such as a class token's.
struct ExtraRow {
  int table = 0;     // its row in the table
  int sequence = 0;  // its row in the sequence, or kNoSequenceRow: nothing reads it
};
inline constexpr int kNoSequenceRow = -1;

// x + table. The table is a learned [1, rows * cols + extra rows, channels]. Its rows besides the
// extra ones are a grid, resized to height x width where that differs: bicubic, coefficient -0.75,
// half-pixel centres, no antialiasing. x is that grid with the extra rows inserted.
struct AddPositionOp {
  int rows = 0;
  int cols = 0;
  int height = 0;
  int width = 0;
  std::vector<ExtraRow> extra;
  bool operator==(const AddPositionOp& other) const {
    return rows == other.rows && cols == other.cols && extra.size() == other.extra.size();
  }
};

// The rows besides the extra ones, in order: of the table, and of the sequence.
std::vector<int64_t> table_cells(const AddPositionOp& op);
std::vector<int64_t> sequence_cells(const AddPositionOp& op);

// Rotary position: pairs of channels turned by angles that belong to the positions of a grid. With
// tables cos and sin [rows * cols, channels], resized to the grid of x as AddPositionOp's are,
//   y[2 j]     = x[2 j] cos[2 j] - x[2 j + 1] sin[2 j]
//   y[2 j + 1] = x[2 j + 1] cos[2 j + 1] + x[2 j] sin[2 j + 1]
// Parameters cos and sin, which no gradient changes. An even number of channels.
struct RotaryOp {
  int rows = 0;
  int cols = 0;
  bool operator==(const RotaryOp&) const = default;
};

// Learned rows, [1, count, channels], the same for every image: class tokens.
struct TokensOp {
  bool operator==(const TokensOp&) const = default;
};

// Inputs x, rows: the sequence x with the rows of the second operand before its row `at`.
struct InsertRowsOp {
  int at = 0;
  bool operator==(const InsertRowsOp&) const { return true; }
};

// Rows of x from `first` on, as many as the result's grid has.
struct SelectRowsOp {
  int first = 0;
  bool operator==(const SelectRowsOp&) const { return true; }
};

// First half of the channels is the gate: silu(gate) * value.
struct SwiGluOp {
  bool operator==(const SwiGluOp&) const = default;
};

// Inputs g, a, b: sigmoid(g) * a + (1 - sigmoid(g)) * b.
struct GatedMixOp {
  bool operator==(const GatedMixOp&) const = default;
};

enum class GlaDirection {
  kForward,    // causal
  kBackward,   // causal from the last token
  kBoth,       // (forward + backward) / 2 with a gate each
  kBothShared  // the same with one gate for both directions
};

// Gated linear attention (paper, eq. of the bidirectional layer). Inputs: qkv with channels
// [q: H*K | k: H*K | v: H*V] and gate logits z, [H*K] a direction (forward first).
//   alpha = exp(logsigmoid(z) / 16)
//   S_t = diag(alpha_t) S_{t-1} + k_t^T v_t,  o_t = K^-1/2 q_t S_t
// Backward the same from the last token; both directions include token t itself. `two_pass` scans
// the directions apart, the second over reversed copies, and adds them: the same up to rounding, to
// show what that costs.
struct GlaOp {
  int heads = 1;
  int key_dim = 1;    // K, per head
  int value_dim = 1;  // V, per head
  GlaDirection direction = GlaDirection::kBoth;
  bool two_pass = false;
  bool operator==(const GlaOp&) const = default;
};

// What attention stores of the logits of all pairs of tokens. The result is the same up to
// rounding; the others show what storing costs.
enum class AttentionForm {
  kTiled,         // a few tiles
  kMaterialised,  // those of the heads at work
  kEager,         // those of all heads and, beside them, their softmax
};

// Softmax attention among the tokens of an image. Input qkv with channels [q | k | v], each
// heads * D: o = softmax(D^-1/2 q k^T) v of every head.
struct AttentionOp {
  int heads = 1;
  AttentionForm form = AttentionForm::kTiled;
  bool operator==(const AttentionOp&) const = default;
};

// The same inside windows of the grid, row by row from the top left. `shifted` rolls the grid by
// half a window first (window_shift), and -100 is added to the logit of tokens that the roll made
// neighbours. A grid that windows do not fill is padded at the bottom and on the right, after the
// roll; the keys and values of a padded token are the bias of the projection that made qkv.
// table [(2 window_height - 1) (2 window_width - 1), heads] is added to the logits by where one
// token lies from the other; bias [3 heads D]. Without these parameters nothing is added, and a
// padded token is 0: it has a logit of 0 and no value.
struct WindowAttentionOp {
  int heads = 1;
  int window_height = 7;
  int window_width = 7;
  bool shifted = false;
  bool operator==(const WindowAttentionOp&) const = default;
};

// How far shifted windows roll an axis of the grid: one window along it needs no shift.
inline int window_shift(int size, int window, bool shifted) {
  return shifted && size > window ? window / 2 : 0;
}

// The channels of 2 x 2 neighbours behind each other, in the order (row 0, column 0), (1, 0),
// (0, 1), (1, 1). Beyond an odd edge are zeros.
struct SpaceToDepthOp {
  bool operator==(const SpaceToDepthOp&) const = default;
};

// A linear layer over the T tokens of a sequence, for every channel alike: y = W x + b with a
// number of b for each token. weight [T, T], bias [T].
struct TokenLinearOp {
  bool operator==(const TokenLinearOp&) const = default;
};

// Channels of x from `first` on, as many as the result has.
struct SelectChannelsOp {
  int first = 0;
  bool operator==(const SelectChannelsOp&) const = default;
};

// Causal depthwise convolution over some channels of x, along a path (kernels/conv1d.h). The
// results stand at the positions of their tokens, or, `ordered`, as the sequence of the path with
// its padding. weight [channels, 1, width], bias [channels].
struct Conv1dOp {
  int width = 4;
  int first = 0;  // channel of x
  ScanPath path;
  bool ordered = false;
  bool operator==(const Conv1dOp&) const = default;
};

// One direction of a selective scan, and where its operands lie. Padding is zero.
struct ScanDirection {
  ScanPath path;
  int u = 0;  // operand with the E channels that are scanned, from channel u_first on
  int u_first = 0;
  int steps = 1;  // operand with the raw step sizes, from channel step_first on
  int step_first = 0;
  int rates = 2;  // operand with B [N] and behind it C [N], from channel rate_first on
  int rate_first = 0;
  bool operator==(const ScanDirection&) const = default;
};

// Selective scan (Mamba): the sum over directions of kernels/selective_scan.h, times `scale`, and
// times silu(z) where there is a gate. Parameters A_log [E, N], D [E] and the bias of the step
// sizes [E]: for each direction its own, one after the other; or one of each for all directions,
// `shared` or with the sets of several directions as rows, of which direction d takes set first_set
// + d.
struct SelectiveScanOp {
  // The inputs at index n of a path.
  enum class Taking {
    kTokens,          // all of its token
    kOnlyUAlongPath,  // u of its token; raw step size, B and C of token n
    kSequences,       // operands are sequences along the path already: row n
    kHalfGrid,        // operands lie on a grid of half the size, a position for each of a subgrid
  };

  int channels = 1;  // E
  int states = 1;    // N
  std::vector<ScanDirection> directions;
  Taking taking = Taking::kTokens;
  bool shared = false;
  int sets = 0;  // of rows; 0: one for each direction
  int first_set = 0;
  float bias_factor = 1.0f;
  float scale = 1.0f;
  // Operand with z, from channel gate_first on; -1: none. A result's z is that of its position, and
  // with released_columns, where one direction alone may have a gate, that of its token.
  int gate = -1;
  int gate_first = 0;
  // A last parameter [5, N] is added to B, by the move that led to the token: none, right, left,
  // up, down.
  bool moves = false;
  // Results of column paths go where a released inverse puts them, which is elsewhere unless the
  // grid is square.
  bool released_columns = false;
  bool operator==(const SelectiveScanOp&) const = default;
};

// Token shift with mixing (kernels/q_shift.h): a result of C channels for each parameter mix
// [1, 1, C], one beside the other.
struct QShiftOp {
  bool operator==(const QShiftOp&) const = default;
};

// Bidirectional WKV (kernels/wkv.h). Inputs k, v; parameters decay [C], first [C].
struct BiWkvOp {
  bool released = false;  // the weights of the published kernel instead of the formula's
  bool operator==(const BiWkvOp&) const = default;
};

// Mean over all positions: a 1x1 grid.
struct MeanPoolOp {
  bool operator==(const MeanPoolOp&) const = default;
};

using Op = std::variant<InputOp, ConvOp, DepthwiseConvOp, MaxPoolOp, LinearOp, LayerNormOp,
                        RmsNormOp, BatchNormOp, ActivationOp, AddOp, MulOp, ChannelGateOp, ScaleOp,
                        AddPositionOp, RotaryOp, TokensOp, InsertRowsOp, SelectRowsOp, SwiGluOp,
                        GatedMixOp, GlaOp, AttentionOp, WindowAttentionOp, SpaceToDepthOp,
                        TokenLinearOp, SelectChannelsOp, Conv1dOp, SelectiveScanOp, QShiftOp,
                        BiWkvOp, S4ConvOp, MeanPoolOp, AveragePoolOp, AdaptivePoolOp, ResizeOp,
                        UpsampleConvOp, ConcatChannelsOp, AddRowOp, DropChannelsOp, DeformableOp>;

const char* op_name(const Op& op);

// How many gate logits a token has: one set of keys for each direction with its own gate.
inline int gla_gate_channels(const GlaOp& op) {
  return op.heads * op.key_dim * (op.direction == GlaDirection::kBoth ? 2 : 1);
}
inline int gla_directions(const GlaOp& op) {
  return op.direction == GlaDirection::kBoth || op.direction == GlaDirection::kBothShared ? 2 : 1;
}

// Helper for std::visit with one lambda per operation.
template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace vig
