// A low-rank adapter (LoRA, Hu et al. 2021) as a model reads it: for each layer and each matrix it changes, A, B and a scale.
//
//   ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(/*layers=*/30, kLoraTargets));
//   RETURN_IF_ERROR(adapter.Set(layer, LoraTarget::kQuery, {.in = 576, .out = 576, .rank = 8, .scale = 2, .a = a, .b = b}));
//   const AdapterProduct* of_row = adapter.Layer(layer).data();       // an entry of RunArguments::adapters
//
// A row that has the adapter gets y += scale * B (A x) wherever the adapter changes a matrix; results of other matrices, and of rows
// without adapter, keep their bits. Adapters are inputs of a graph, not part of it: each row of each pass names its own. Threads: Set from
// one thread, before the adapter is used; from then on nothing changes, and any thread may read. Moving an adapter leaves its numbers where
// they are; the pointers in Layer() stay valid while the adapter lives, wherever it is moved. Numbers are kept in 16 bits where that holds
// them exactly, which halves memory and changes no bit of a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/sha256.h"
#include "tessera/model/files/config.h"
#include "tessera/npu/device.h"
#include "tessera/quant/block_format.h"

namespace tessera {

// The placeholders of a decoder layer, in the order of RunArguments::adapters.
enum class LoraTarget { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };
constexpr int kLoraTargets = 7;

// As GGUF names the tensor between "blk.N." and ".weight": "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up",
// "ffn_down".
absl::string_view LoraTargetName(LoraTarget target);

// Inputs and outputs of the matrix of a layer that a target changes.
struct LoraShape { int64_t in = 0; int64_t out = 0; };
LoraShape LoraShapeOf(const ModelConfig& config, LoraTarget target);

// What an adapter adds to one matrix of shape [out, in].
struct LoraMatrices {
  int64_t in = 0;        // The shape of the model's matrix, not of the file that a and b come from: they are checked against it.
  int64_t out = 0;
  int rank = 0;
  float scale = 0;       // Usually alpha / rank.
  std::vector<float> a = {};  // [rank, in], row-major.
  std::vector<float> b = {};  // [rank, out], row-major: the transpose of what most files hold.
};

// The same as it is kept.
struct LoraNumbers {
  int64_t in = 0;
  int64_t out = 0;
  int rank = 0;
  float scale = 0;
  BlockFormat format = BlockFormat::kF16;   // Both are in it: kF32, kF16 or kBF16.
  std::vector<std::byte> a = {};
  std::vector<std::byte> b = {};
  bool known_finite = false;                // Each number was looked at, as files' readers do.
};

// The format of least bytes that holds all these numbers exactly, the sign of a zero included: FP16, else BF16, else FP32.
BlockFormat NarrowestFormatFor(absl::Span<const float> a, absl::Span<const float> b);

class LoraAdapter {  // Move-only.
 public:
  // The adapter changes nothing until Set. placeholders: those of one layer, kLoraTargets for a decoder. InvalidArgument names the number
  // (or the product of the two) that is not in 1 .. kMostPlaces, found and expected.
  static absl::StatusOr<LoraAdapter> Create(int layers, int placeholders);
  static constexpr int kMostPlaces = 1 << 20;

  LoraAdapter(LoraAdapter&&) = default;
  LoraAdapter& operator=(LoraAdapter&&) = default;

  // InvalidArgument (layer, placeholder, field, found, expected) if a number is out of range or not finite, or a or b is not of
  // the size its shape gives, or for a format that is none of those above; AlreadyExists if the place was set before. An error changes
  // nothing.
  // Keeps them as NarrowestFormatFor says.
  absl::Status Set(int layer, int placeholder, const LoraMatrices& matrices);
  absl::Status Set(int layer, LoraTarget target, const LoraMatrices& matrices) {
    return Set(layer, static_cast<int>(target), matrices);
  }
  // Keeps them as they are.
  absl::Status SetNumbers(int layer, int placeholder, LoraNumbers numbers);

  // InvalidArgument (what, found, expected) unless it is for models of this shape: their layers, and each matrix that it changes.
  absl::Status CheckFits(const ModelConfig& config) const;

  // The placeholders() entries of a layer; those never set have a null `a`. The entries of the next layers follow behind, so
  // for a graph of n layers Layer(first).data() points at all n * placeholders() it takes. REQUIRES: 0 <= layer < layers().
  absl::Span<const AdapterProduct> Layer(int layer) const;

  int layers() const { return static_cast<int>(products_.size()) / placeholders_; }
  int placeholders() const { return placeholders_; }
  int64_t bytes() const { return bytes_; }  // Memory of all A and B, padding included.
  // Tells this adapter from every other of the process, equal ones included; never 0, and never used again. A moved adapter takes it along.
  uint64_t id() const { return id_; }
  // Says that this is the adapter with that id, read again. REQUIRES: their sums are the same, and no other has the id now.
  void BecomeAgain(uint64_t id) { id_ = id; }
  // Returns the SHA-256 of what it changes and how: places, shapes, ranks, scales, formats and numbers as they were set. It is the same in
  // every process, and by whichever set or padding the numbers lie. Reads all numbers: 0.6 ms for each MB where the CPU has instructions
  // for it.
  Sha256Sum Sum() const;

  // The rank at each place, layer by layer; 0: nothing is changed there.
  std::vector<int> Ranks() const;
  LoraShape shape(int place) const { return shapes_[static_cast<size_t>(place)]; }   // {0, 0} where the rank is 0.
  // Gives A and B of each place the memory of this rank, the rest zeros, as inputs of a graph have it that takes adapters of several ranks.
  // Places that the adapter does not change have the shape of `shapes`, and stay unbound. Products keep their own ranks: padding is never
  // multiplied. REQUIRES: both have layers() * placeholders() entries; no rank is below the adapter's own.
  void PadTo(const std::vector<int>& ranks, const std::vector<LoraShape>& shapes);

 private:
  friend class AdapterSet;   // Puts the numbers of several adapters side by side.

  LoraAdapter(int layers, int placeholders);
  void AddPlaceTo(Sha256& hash, size_t place) const;

  int placeholders_;
  int64_t bytes_ = 0;
  uint64_t id_;
  std::vector<AdapterProduct> products_;       // [layer][placeholder]
  std::vector<LoraShape> shapes_;              // The same.
  std::vector<BlockFormat> set_formats_;       // The same: as they were set. An AdapterSet may have them wider.
  // What products_ point to: A of place p at [2 p], B at [2 p + 1]. Empty where they are an AdapterSet's.
  std::vector<std::vector<std::byte>> numbers_;
};

}  // namespace tessera
