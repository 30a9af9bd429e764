// One function for each operation of the closed set: writes it as ONNX nodes. An operation without
// one does not compile.
#pragma once

#include "vig/graph/ops.h"
#include "vig/onnx/op_writer.h"

namespace vig::onnx_format {

// elementwise_ops.cpp
void write(const ActivationOp& op, OpWriter& to);
void write(const AddOp& op, OpWriter& to);
void write(const MulOp& op, OpWriter& to);
void write(const ChannelGateOp& op, OpWriter& to);
void write(const ScaleOp& op, OpWriter& to);
void write(const SwiGluOp& op, OpWriter& to);
void write(const GatedMixOp& op, OpWriter& to);
void write(const LayerNormOp& op, OpWriter& to);
void write(const RmsNormOp& op, OpWriter& to);
void write(const BatchNormOp& op, OpWriter& to);

// product_ops.cpp
void write(const ConvOp& op, OpWriter& to);
void write(const DepthwiseConvOp& op, OpWriter& to);
void write(const MaxPoolOp& op, OpWriter& to);
void write(const MeanPoolOp& op, OpWriter& to);
void write(const LinearOp& op, OpWriter& to);
void write(const TokenLinearOp& op, OpWriter& to);

// row_ops.cpp
void write(const InputOp& op, OpWriter& to);
void write(const AddPositionOp& op, OpWriter& to);
void write(const RotaryOp& op, OpWriter& to);
void write(const TokensOp& op, OpWriter& to);
void write(const InsertRowsOp& op, OpWriter& to);
void write(const SelectRowsOp& op, OpWriter& to);
void write(const SelectChannelsOp& op, OpWriter& to);
void write(const SpaceToDepthOp& op, OpWriter& to);
void write(const QShiftOp& op, OpWriter& to);

// attention_ops.cpp
void write(const AttentionOp& op, OpWriter& to);
void write(const WindowAttentionOp& op, OpWriter& to);

// gla_op.cpp
void write(const GlaOp& op, OpWriter& to);

// scan_ops.cpp
void write(const Conv1dOp& op, OpWriter& to);
void write(const SelectiveScanOp& op, OpWriter& to);

// wkv_op.cpp
void write(const BiWkvOp& op, OpWriter& to);

// dense_ops.cpp
void write(const AveragePoolOp& op, OpWriter& to);
void write(const AdaptivePoolOp& op, OpWriter& to);
void write(const ResizeOp& op, OpWriter& to);
void write(const UpsampleConvOp& op, OpWriter& to);
void write(const ConcatChannelsOp& op, OpWriter& to);
void write(const AddRowOp& op, OpWriter& to);
void write(const DropChannelsOp& op, OpWriter& to);

// deformable_op.cpp
void write(const DeformableOp& op, OpWriter& to);

// s4_op.cpp
void write(const S4ConvOp& op, OpWriter& to);

}  // namespace vig::onnx_format
