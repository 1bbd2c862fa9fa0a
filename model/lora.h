// A low-rank adapter (LoRA, Hu et al. 2021) in the form that a model reads: for each layer and each changed matrix, A, B and a scale.
//
//   ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(/*layers=*/30, kLoraTargets));
//   RETURN_IF_ERROR(adapter.Set(layer, LoraTarget::kQuery, {.in = 576, .out = 576, .rank = 8, .scale = 2, .a = a, .b = b}));
//   const AdapterProduct* of_row = adapter.Layer(layer).data();       // an entry of RunArguments::adapters
//
// A row with the adapter gets y += scale * B (A x) for each matrix that the adapter changes. Results of other matrices, and of rows without
// adapter, keep their bits. Adapters are inputs of a graph, not part of the graph: each row of each pass names its own adapter. Numbers are
// kept in 16 bits if 16 bits hold the numbers exactly: this halves memory and changes no bit of a result.
//
// Threads: call Set from one thread, before the adapter is used. Afterwards nothing changes, and any thread may read.
//
// Lifetime: moving an adapter does not move its numbers. The pointers in Layer() stay valid while the adapter lives, wherever the adapter
// is moved.
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

// Returns the tensor's name in GGUF between "blk.N." and ".weight": "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up",
// "ffn_down".
absl::string_view LoraTargetName(LoraTarget target);

// Inputs and outputs of the layer's matrix that a target changes.
struct LoraShape { int64_t in = 0; int64_t out = 0; };
LoraShape LoraShapeOf(const ModelConfig& config, LoraTarget target);

// The matrices that an adapter adds to one matrix of shape [out, in].
struct LoraMatrices {
  int64_t in = 0;        // The shape of the model's matrix, not the file's shape. a and b are checked against this shape.
  int64_t out = 0;
  int rank = 0;
  float scale = 0;       // Usually alpha / rank.
  std::vector<float> a = {};  // [rank, in], row-major.
  std::vector<float> b = {};  // [rank, out], row-major: most files hold the transpose.
};

// The same matrices in the format that memory keeps.
struct LoraNumbers {
  int64_t in = 0;
  int64_t out = 0;
  int rank = 0;
  float scale = 0;
  BlockFormat format = BlockFormat::kF16;   // Format of a and b: kF32, kF16 or kBF16.
  std::vector<std::byte> a = {};
  std::vector<std::byte> b = {};
  bool known_finite = false;                // Each number was checked, as the readers of files do.
};

// Returns the format with the fewest bytes that holds all numbers exactly, including the sign of a zero: FP16, else BF16, else FP32.
BlockFormat NarrowestFormatFor(absl::Span<const float> a, absl::Span<const float> b);

class LoraAdapter {  // Move-only.
 public:
  // Makes an adapter that changes nothing until Set. placeholders: the number per layer, kLoraTargets for a decoder. Returns
  // InvalidArgument (number or product, found, expected) unless both numbers and their product are in 1 .. kMostPlaces.
  static absl::StatusOr<LoraAdapter> Create(int layers, int placeholders);
  static constexpr int kMostPlaces = 1 << 20;

  LoraAdapter(LoraAdapter&&) = default;
  LoraAdapter& operator=(LoraAdapter&&) = default;

  // Sets the matrices of one place, in the format of NarrowestFormatFor. Returns InvalidArgument (layer, placeholder, field, found,
  // expected) if a number is out of range or not finite, if the size of a or b does not match the shape, or for any other format than the
  // three above. Returns AlreadyExists if the place was set before. An error changes nothing.
  absl::Status Set(int layer, int placeholder, const LoraMatrices& matrices);
  absl::Status Set(int layer, LoraTarget target, const LoraMatrices& matrices) {
    return Set(layer, static_cast<int>(target), matrices);
  }
  // Sets the matrices of one place, in the given format.
  absl::Status SetNumbers(int layer, int placeholder, LoraNumbers numbers);

  // Returns InvalidArgument (field, found, expected) unless the adapter fits models of this shape: the number of layers, and each changed
  // matrix.
  absl::Status CheckFits(const ModelConfig& config) const;

  // Returns the placeholders() entries of a layer. Entries that were never set have a null `a`. The entries of the next layers follow. For
  // a graph of n layers, Layer(first).data() therefore points at all n * placeholders() entries. REQUIRES: 0 <= layer < layers().
  absl::Span<const AdapterProduct> Layer(int layer) const;

  int layers() const { return static_cast<int>(products_.size()) / placeholders_; }
  int placeholders() const { return placeholders_; }
  int64_t bytes() const { return bytes_; }  // Memory of all A and B, padding included.
  // Returns an id that no other adapter of the process has, equal adapters included. The id is never 0 and never used again. A moved
  // adapter keeps its id.
  uint64_t id() const { return id_; }
  // Declares this adapter to be the adapter `id`, read again. REQUIRES: both adapters have the same Sum(), and no other adapter has the id
  // now.
  void BecomeAgain(uint64_t id) { id_ = id; }
  // Returns the SHA-256 of the adapter's changes: places, shapes, ranks, scales, formats and numbers as set. The sum is the same in every
  // process, with any AdapterSet and any padding. Reads all numbers: 0.6 ms per MB if the CPU has SHA instructions.
  Sha256Sum Sum() const;

  // Returns the rank at each place, layer by layer; 0: the place is unchanged.
  std::vector<int> Ranks() const;
  LoraShape shape(int place) const { return shapes_[static_cast<size_t>(place)]; }   // {0, 0} if the rank is 0.
  // Pads A and B of each place with zeros to the memory of the given rank. A graph for adapters of several ranks takes such inputs. Places
  // that the adapter does not change get the shape of `shapes`, and stay unbound. Products keep their own ranks: padding is never
  // multiplied. REQUIRES: `ranks` and `shapes` have layers() * placeholders() entries; no rank is below the adapter's own.
  void PadTo(const std::vector<int>& ranks, const std::vector<LoraShape>& shapes);

 private:
  friend class AdapterSet;   // Puts the numbers of several adapters side by side.

  LoraAdapter(int layers, int placeholders);
  void AddPlaceTo(Sha256& hash, size_t place) const;

  int placeholders_;
  int64_t bytes_ = 0;
  uint64_t id_;
  std::vector<AdapterProduct> products_;       // [layer][placeholder]
  std::vector<LoraShape> shapes_;              // [layer][placeholder]
  std::vector<BlockFormat> set_formats_;       // [layer][placeholder]: the formats at Set. An AdapterSet may widen the numbers.
  // The memory behind products_: A of place p at [2 p], B at [2 p + 1]. Empty if an AdapterSet holds the memory.
  std::vector<std::vector<std::byte>> numbers_;
};

}  // namespace tessera
