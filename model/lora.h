// A low-rank adapter (LoRA, Hu et al. 2021) as a model reads it: for each layer and each matrix it changes, A, B and a scale.
//
//   ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(/*layers=*/30, kLoraTargets));
//   RETURN_IF_ERROR(adapter.Set(layer, LoraTarget::kQuery, {.in = 576, .out = 576, .rank = 8, .scale = 2, .a = a, .b = b}));
//   const AdapterProduct* of_row = adapter.Layer(layer).data();       // an entry of RunArguments::adapters
//
// A row that has the adapter gets y += scale * B (A x) wherever the adapter changes a matrix; results of other matrices, and of rows
// without adapter, keep their bits. Adapters are inputs of a graph, not part of it: each row of each pass names its own. Threads: Set from
// one thread, before the adapter is used; from then on nothing changes, and any thread may read. Moving an adapter leaves its numbers where
// they are; the pointers in Layer() stay valid while the adapter lives, wherever it is moved.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/npu/device.h"

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

class LoraAdapter {  // Move-only.
 public:
  // The adapter changes nothing until Set. placeholders: those of one layer, kLoraTargets for a decoder. InvalidArgument names the number
  // (or the product of the two) that is not in 1 .. kMostPlaces, found and expected.
  static absl::StatusOr<LoraAdapter> Create(int layers, int placeholders);
  static constexpr int kMostPlaces = 1 << 20;

  LoraAdapter(LoraAdapter&&) = default;
  LoraAdapter& operator=(LoraAdapter&&) = default;

  // InvalidArgument (layer, placeholder, field, found, expected) if a number is out of range or not finite, or a or b is not of
  // the size its shape gives; AlreadyExists if the place was set before. An error changes nothing.
  absl::Status Set(int layer, int placeholder, LoraMatrices matrices);
  absl::Status Set(int layer, LoraTarget target, LoraMatrices matrices) {
    return Set(layer, static_cast<int>(target), std::move(matrices));
  }

  // InvalidArgument (what, found, expected) unless it is for models of this shape: their layers, and each matrix that it changes.
  absl::Status CheckFits(const ModelConfig& config) const;

  // The placeholders() entries of a layer; those never set have a null `a`. The entries of the next layers follow behind, so
  // for a graph of n layers Layer(first).data() points at all n * placeholders() it takes. REQUIRES: 0 <= layer < layers().
  absl::Span<const AdapterProduct> Layer(int layer) const;

  int layers() const { return static_cast<int>(products_.size()) / placeholders_; }
  int placeholders() const { return placeholders_; }
  int64_t bytes() const { return bytes_; }  // Memory of all A and B.
  // A number that tells adapters apart by what they change and how, the same in every process; never 0.
  uint64_t content() const { return content_ == 0 ? 1 : content_; }

 private:
  LoraAdapter(int layers, int placeholders)
      : placeholders_(placeholders), products_(static_cast<size_t>(layers) * static_cast<size_t>(placeholders)),
        shapes_(products_.size()) {}

  int placeholders_;
  int64_t bytes_ = 0;
  uint64_t content_ = 1;
  std::vector<AdapterProduct> products_;       // [layer][placeholder]
  std::vector<LoraShape> shapes_;              // The same.
  std::vector<std::vector<float>> numbers_;    // What products_ point to, in the order of Set.
};

}  // namespace tessera
