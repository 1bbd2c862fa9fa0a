// Arguments for a run of any graph in FP32: seeded weights, a KV cache, rope angles, and rows that follow one another.
//
//   GraphInputs inputs(compiled, /*seed=*/7, /*kv_heads=*/2, /*head_size=*/16);
//   inputs.SetRows({3, 1, 4});                            // three tokens at positions 0, 1, 2
//   RETURN_IF_ERROR(device.Run(*graph, inputs.arguments()));
//   inputs.output(0);                                     // [rows, columns] of the first external buffer
#pragma once

#include <cmath>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/random.h"
#include "tessera/npu/device.h"

namespace tessera {

class GraphInputs {
 public:
  static constexpr int kSlots = 64;
  static constexpr int kDimensions = 16;  // Dimensions of rope tables.

  GraphInputs(const CompiledGraph& compiled, uint64_t seed, int kv_heads = 1, int head_size = 16)
      : compiled_(compiled), random_(seed) {
    const int64_t layers = 8;
    keys_.resize(layers * KvView::KeyBytes(KvFormat::kFloat, kv_heads, head_size, kSlots));
    values_.resize(layers * KvView::ValueBytes(KvFormat::kFloat, kv_heads, head_size, kSlots));
    for (const int64_t bytes : compiled.needs.float_bytes) AddWeight(bytes);
    arguments_.weights = spans_;
    arguments_.kv = KvView(keys_.data(), values_.data(), KvFormat::kFloat, kv_heads, head_size, kSlots);
  }

  float* weight(WeightId id) { return weights_[id].as<float>(); }
  RunArguments& arguments() { return arguments_; }
  std::vector<float>& output(int external) { return buffers_[external]; }

  // Sets rows of `tokens` at positions first_position, ...: row r sees slots 0 to its position. Inputs get random numbers that depend on
  // the token alone.
  void SetRows(const std::vector<int32_t>& tokens, int first_position = 0) {
    const int rows = static_cast<int>(tokens.size());
    tokens_ = tokens;
    slots_.clear(), ranges_.clear(), paths_.clear(), angles_.clear();
    for (int r = 0; r < rows; ++r) {
      slots_.push_back(first_position + r);
      ranges_.push_back({{0, first_position + r + 1}});
      AddAngles(first_position + r);
    }
    for (const std::vector<SlotRange>& path : ranges_) paths_.push_back(path);
    FillBuffers(rows);
    Bind(rows);
  }

  // Sets the path of a row, after SetRows.
  void SetPath(int row, std::vector<SlotRange> path) {
    ranges_[row] = std::move(path);
    paths_[row] = ranges_[row];
  }
  void SetSlot(int row, int32_t slot) { slots_[row] = slot; }
  float* cos_sin(int row) { return angles_.data() + row * kDimensions; }

 private:
  void AddWeight(int64_t bytes) {
    weights_.push_back(*AlignedBuffer::Allocate(bytes));
    for (int64_t i = 0; i < bytes / 4; ++i) weights_.back().as<float>()[i] = random_.Uniform(-0.4f, 0.4f);
    spans_.push_back(weights_.back().bytes());
  }

  void AddAngles(int position) {
    for (int i = 0; i < kDimensions / 2; ++i) {
      const double angle = position * std::pow(100.0, -i / 8.0);
      angles_.push_back(static_cast<float>(std::cos(angle)));
      angles_.push_back(static_cast<float>(std::sin(angle)));
    }
  }

  void FillBuffers(int rows) {
    buffers_.clear();
    for (const BufferId id : compiled_.needs.external) {
      const GraphBuffer& buffer = compiled_.graph.buffers[id];
      buffers_.emplace_back(rows * buffer.columns, -77.0f);
      if (buffer.kind != BufferKind::kInput) continue;
      for (int r = 0; r < rows; ++r) {
        SeededRandom random(1000 + tokens_[r]);
        for (int64_t i = 0; i < buffer.columns; ++i) buffers_.back()[r * buffer.columns + i] = random.Uniform(-1.0f, 1.0f);
      }
    }
  }

  void Bind(int rows) {
    arguments_.rows = rows;
    arguments_.buffers.clear();
    for (size_t i = 0; i < buffers_.size(); ++i) {
      arguments_.buffers.push_back({buffers_[i].data(), compiled_.graph.buffers[compiled_.needs.external[i]].columns});
    }
    tables_.assign(1, angles_.data());
    arguments_.tokens = tokens_;
    arguments_.slots = slots_;
    arguments_.paths = paths_;
    arguments_.rope_tables = tables_;
  }

  const CompiledGraph compiled_;
  SeededRandom random_;
  std::vector<std::byte> keys_, values_;
  std::vector<AlignedBuffer> weights_;
  std::vector<absl::Span<const std::byte>> spans_;
  std::vector<std::vector<float>> buffers_;
  std::vector<int32_t> tokens_, slots_;
  std::vector<std::vector<SlotRange>> ranges_;
  std::vector<SlotPath> paths_;
  std::vector<float> angles_;
  std::vector<const float*> tables_;
  RunArguments arguments_;
};

}  // namespace tessera
