// Pairs the A and B that an adapter's file names, and checks the pairs against the model before any number is read.
//
//   AdapterPlan plan(path, config);
//   RETURN_IF_ERROR(plan.Add({.layer = 3, .matrix = 0, .is_b = false, .tensor = name, .rows = 8, .columns = 576, .source = i}));
//   RETURN_IF_ERROR(plan.Check());
//   for (const AdapterPlan::Place& place : plan.places()) Read(place.a.source, place.b.source);
//
// Errors: InvalidArgument with file, tensor, found and expected. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/config.h"

namespace tessera {

// The matrices of a layer that an adapter may change, with the names of GGUF and PEFT.
struct AdapterTarget { const char* gguf; const char* peft; };
inline constexpr AdapterTarget kAdapterTargets[] = {
    {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_gate", "mlp.gate_proj"},  {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"}};
inline constexpr int kAdapterQuery = 0, kAdapterKey = 1;   // The matrices whose rows turn.

// Returns a number in a name, without sign or leading zeros; -1 for any other text, or more than nine digits.
int LayerNumber(absl::string_view text);

// One A or B of a file.
struct AdapterHalf {
  int layer = 0;
  int matrix = 0;            // Index in kAdapterTargets.
  bool is_b = false;
  std::string tensor = {};   // The tensor's name, for messages.
  std::string module = {};   // The module in the file's spelling; the same for A and B.
  int64_t rows = 0;
  int64_t columns = 0;
  size_t source = 0;         // The reader's index of the tensor.
};

class AdapterPlan {
 public:
  AdapterPlan(std::string path, const ModelConfig& config) : path_(std::move(path)), config_(config) {}

  // Refuses a layer that the model does not have.
  absl::Status Add(AdapterHalf half);
  // Refuses halves without the other half, sizes that differ from the model's, and an empty adapter.
  absl::Status Check() const;

  struct Place { AdapterHalf a = {}; AdapterHalf b = {}; };   // An empty name: absent.
  // Returns the places by layer, then matrix.
  std::vector<Place> places() const;

  absl::Status WrongTensor(absl::string_view tensor, absl::string_view problem) const;
  // Returns the pair of a place, with matrices to be read. Returns InvalidArgument (file, place, scale) if the scale is no finite number in
  // FP32.
  absl::StatusOr<AdapterPair> PairOf(const Place& place, double scale) const;

 private:
  absl::Status CheckPlace(const Place& place) const;

  const std::string path_;
  const ModelConfig& config_;
  std::map<std::pair<int, int>, Place> places_;   // By layer and matrix.
};

// Opens one of the two kinds of files, for AdapterReader::Open.
absl::StatusOr<std::unique_ptr<AdapterReader>> OpenAdapterFolder(const std::string& folder, const MarkedModel& model,
                                                                 const ModelConfig& config);
absl::StatusOr<std::unique_ptr<AdapterReader>> OpenGgufAdapter(const std::string& path, const MarkedModel& model,
                                                               const ModelConfig& config);

// Assembles pairs from the bytes of a file's tensors, as the bytes come.
class AdapterNumbers {
 public:
  // The tensors with the A and B of a pair.
  struct Source { size_t a = 0, b = 0; };
  // shapes: the pairs without bytes; sources: one per pair. REQUIRES: each tensor of the file is in one of the sources.
  AdapterNumbers(const AdapterFile& shapes, absl::Span<const Source> sources, size_t tensors);

  // Takes bytes from ReadThrough. Returns the tensor's matrix once all bytes are there; null before. size: the tensor's.
  AdapterMatrix* Take(size_t tensor, int64_t size, absl::Span<const std::byte> bytes);
  // Returns the pair that this matrix completes, after Take; nullopt: the other matrix is missing.
  std::optional<size_t> WholeBy(size_t tensor) const;
  AdapterPair& pair(size_t number) { return pairs_[number]; }

 private:
  struct Half { size_t pair = 0; bool is_b = false; };
  AdapterMatrix& MatrixOf(const Half& half) { return half.is_b ? pairs_[half.pair].b : pairs_[half.pair].a; }

  std::vector<AdapterPair> pairs_;
  std::vector<Half> halves_;               // By tensor,
  std::vector<int> whole_;                 // and by pair, the number of complete matrices.
};

// Checks an adapter's mark: the adapter must belong to this model. kAdapterModelMark is the key of the mark. place: the place of the mark,
// for messages.
inline constexpr char kAdapterModelMark[] = "tessera.model.vectors";
absl::Status CheckAdapterMark(const std::string& place, uint64_t mark, const MarkedModel& model);

}  // namespace tessera
