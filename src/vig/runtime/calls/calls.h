// What every operation becomes. An operation without a line here does not compile.
#pragma once

#include "vig/runtime/calls/lowering.h"

namespace vig {

inline void lower(const InputOp&, Lowering&) {}  // there before the first call
void lower(const ConvOp& op, Lowering& to);      // conv or product
void lower(const DepthwiseConvOp& op, Lowering& to);
void lower(const MaxPoolOp& op, Lowering& to);
void lower(const LinearOp& op, Lowering& to);      // product
void lower(const LayerNormOp& op, Lowering& to);   // norm
void lower(const RmsNormOp& op, Lowering& to);     // norm
void lower(const BatchNormOp& op, Lowering& to);   // unless it is folded into weights
void lower(const ActivationOp& op, Lowering& to);  // pointwise
void lower(const AddOp& op, Lowering& to);         // pointwise
void lower(const MulOp& op, Lowering& to);         // pointwise
void lower(const ChannelGateOp& op, Lowering& to);
void lower(const ScaleOp& op, Lowering& to);        // pointwise
void lower(const SwiGluOp& op, Lowering& to);       // pointwise
void lower(const AddPositionOp& op, Lowering& to);  // position
void lower(const RotaryOp& op, Lowering& to);       // position
void lower(const TokensOp& op, Lowering& to);       // rows
void lower(const InsertRowsOp& op, Lowering& to);   // rows
void lower(const SelectRowsOp& op, Lowering& to);   // rows
void lower(const GatedMixOp& op, Lowering& to);     // mix
void lower(const GlaOp& op, Lowering& to);          // product or pointwise, scan
void lower(const AttentionOp& op, Lowering& to);
void lower(const WindowAttentionOp& op, Lowering& to);
void lower(const SpaceToDepthOp& op, Lowering& to);
void lower(const TokenLinearOp& op, Lowering& to);
void lower(const SelectChannelsOp& op, Lowering& to);
void lower(const Conv1dOp& op, Lowering& to);
void lower(const SelectiveScanOp& op, Lowering& to);
void lower(const QShiftOp& op, Lowering& to);
void lower(const BiWkvOp& op, Lowering& to);
void lower(const S4ConvOp& op, Lowering& to);
void lower(const MeanPoolOp& op, Lowering& to);      // pool
void lower(const AveragePoolOp& op, Lowering& to);   // max_pool
void lower(const AdaptivePoolOp& op, Lowering& to);  // pool
void lower(const ResizeOp& op, Lowering& to);        // map_resize
void lower(const UpsampleConvOp& op, Lowering& to);
void lower(const ConcatChannelsOp& op, Lowering& to);  // channels
void lower(const AddRowOp& op, Lowering& to);          // pointwise
void lower(const DropChannelsOp& op, Lowering& to);    // channels
void lower(const DeformableOp& op, Lowering& to);

}  // namespace vig
