// Keeps the adapters of one model together in memory. The layout is one of the three of the one-for-all paper (npu/lora_mode.h).
//
//   ASSIGN_OR_RETURN(const AdapterSet set, AdapterSet::Create(LoraMode::kMask, std::move(adapters), config));
//   rows.push_back({token, path, &set[2]});                     // a PassRow of the third task
//   Print(set.bytes(), set.padding_bytes());
//
// A row has the same bits in each layout, and the same bits as with its adapter alone:
// - kInput: A and B of a matrix are padded with zeros (never multiplied) to the largest rank of any task, since a graph has one rank.
//   A task that does not change the matrix has only zeros.
// - kMask: A and B of all tasks lie side by side, as one matrix each. A product takes the ranks under the mask (the row's own ranks)
//   and skips the other ranks: adding zeros for the other ranks would turn a sum of -0 into +0.
// - kGraph: each task keeps its own ranks.
// Threads: any thread may read.
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

// Returns the shape of each place of a decoder's adapters, layer by layer.
std::vector<LoraShape> LoraShapesOf(const ModelConfig& config);

// Raises `ranks` to the ranks of another adapter of the model, place by place. Empty `ranks`: no adapter so far.
void RaiseRanks(const std::vector<int>& other, std::vector<int>& ranks);

class AdapterSet {  // Move-only.
 public:
  // Returns InvalidArgument (field, found, expected) for an adapter of another model.
  static absl::StatusOr<AdapterSet> Create(LoraMode mode, std::vector<LoraAdapter> adapters, const ModelConfig& config);

  LoraMode mode() const { return mode_; }
  int size() const { return static_cast<int>(adapters_.size()); }
  // Returns the adapter with this number, in the order given to Create. REQUIRES: 0 <= number < size(). The set owns the adapter's numbers
  // and must outlive every user of the adapter.
  const LoraAdapter& operator[](int number) const { return adapters_[static_cast<size_t>(number)]; }

  int64_t bytes() const { return bytes_; }                   // Memory of all A and B,
  int64_t padding_bytes() const { return padding_bytes_; }   // and the padding among them.
  // Returns the number of graphs that a device would hold for one block of layers, if graphs have ranks. kGraph: one per set of ranks; else
  // one.
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
