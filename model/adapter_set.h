// Adapters of one model that stay in memory together, laid out in one of the three ways of paper 004 (npu/lora_mode.h).
//
//   ASSIGN_OR_RETURN(const AdapterSet set, AdapterSet::Create(LoraMode::kMask, std::move(adapters), config));
//   rows.push_back({token, path, &set[2]});                     // a PassRow of the third task
//   Print(set.bytes(), set.padding_bytes());
//
// A row has the same bits in each way, and those of its adapter alone:
// - kInput: A and B of a matrix have the largest rank of any task there, since a graph has one; the rest is zeros, and never multiplied.
//   A task that does not change the matrix has zeros alone.
// - kMask: A and B of all tasks lie side by side, as one matrix each. A product takes the ranks under the mask, which are the row's own,
//   and leaves out the others: added as zeros they would turn a sum that is -0 into +0.
// - kGraph: each task keeps its own ranks.
// Threads: any may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/config.h"
#include "tessera/model/lora.h"
#include "tessera/npu/lora_mode.h"

namespace tessera {

// The shape of each place of a decoder's adapters, layer by layer.
std::vector<LoraShape> LoraShapesOf(const ModelConfig& config);

// Raises `ranks` to those of another adapter of the model, place by place. Empty: none so far.
void RaiseRanks(const std::vector<int>& other, std::vector<int>& ranks);

class AdapterSet {  // Move-only.
 public:
  // InvalidArgument (what, found, expected) for an adapter of another model.
  static absl::StatusOr<AdapterSet> Create(LoraMode mode, std::vector<LoraAdapter> adapters, const ModelConfig& config);

  LoraMode mode() const { return mode_; }
  int size() const { return static_cast<int>(adapters_.size()); }
  // In the order in which they were given. REQUIRES: 0 <= number < size(). Its numbers are the set's, which must outlive what has it.
  const LoraAdapter& operator[](int number) const { return adapters_[static_cast<size_t>(number)]; }

  int64_t bytes() const { return bytes_; }                   // Memory of all A and B,
  int64_t padding_bytes() const { return padding_bytes_; }   // and the part of it that is padding.
  // Graphs of one block of layers that a device would hold whose graphs have ranks: in kGraph one for each set of ranks, else one.
  int graphs() const { return graphs_; }

 private:
  explicit AdapterSet(LoraMode mode) : mode_(mode) {}
  void Pad(const std::vector<LoraShape>& shapes);
  void PutSideBySide(size_t place);

  LoraMode mode_;
  int64_t bytes_ = 0, padding_bytes_ = 0;
  int graphs_ = 1;
  std::vector<LoraAdapter> adapters_;
  std::vector<std::vector<std::byte>> side_by_side_;   // In kMask: A of place p at [2 p], B at [2 p + 1].
};

}  // namespace tessera
