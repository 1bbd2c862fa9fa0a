// Reads low-rank adapters (LoRA) from files, checked against the model that the adapter changes: folders of PEFT and of mlx-lm, and GGUF
// files.
//
//   ASSIGN_OR_RETURN(AdapterFile adapter, ReadAdapter("pirate/", *model, config));          // or "pirate.gguf"
//   for (const AdapterPair& pair : adapter.pairs) Use(pair.layer, pair.matrix, pair.a.Floats(), pair.b.Floats(), pair.scale);
//
// A folder holds adapter_config.json and adapter_model.safetensors (PEFT) or adapters.safetensors (mlx-lm). All kinds give the same pairs:
// A [rank, in], B [out, rank] in the order of the model's rows, and the scale. GGUF files whose RoPE turns neighbours order the rows of
// queries and keys unlike Hugging Face, so rows of a folder's B are reordered for such files. The scale is alpha / rank, for rsLoRA alpha /
// sqrt(rank), for mlx-lm the file's own, and 1 for a GGUF file without alpha. Numbers keep the file's 16 or 32 bits; numbers of other GGUF
// formats are widened to FP32.
//
// Every statement of a file that would change the result is used, or refused by name. Refused are DoRA, biases, modules saved whole, layers
// copied, adapters of embeddings and heads, and kinds other than LoRA. Sizes are checked before numbers are read, so memory depends on the
// model's matrices and the rank alone. A file may name its model by a mark (metadata "tessera.model.vectors", the number that MarkedModel
// gives); any other model is then refused.
//
// Errors: InvalidArgument with file, field or tensor, the value found and the value expected; NotFound for a missing file; the errors of
// GgufFile and SafetensorsFile.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/marked_model.h"
#include "tessera/quant/block_format.h"

namespace tessera {

inline constexpr int kMostAdapterRank = 1024;   // The limit of the kernels (npu/device.h).

// Numbers of a file, row-major.
struct AdapterMatrix {
  BlockFormat format = BlockFormat::kF16;   // kF32, kF16 or kBF16.
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<std::byte> bytes = {};        // All numbers are finite. Empty: not read.

  std::vector<float> Floats() const;
  friend bool operator==(const AdapterMatrix&, const AdapterMatrix&) = default;
};

// The change of one matrix W of a layer: W x + scale * B (A x).
struct AdapterPair {
  int layer = 0;
  std::string matrix = {};   // "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up" or "ffn_down".
  int rank = 0;              // 1 to kMostAdapterRank.
  float scale = 0;           // Finite.
  AdapterMatrix a = {};      // [rank, in]
  AdapterMatrix b = {};      // [out, rank]
  friend bool operator==(const AdapterPair&, const AdapterPair&) = default;
};

struct AdapterFile {
  std::string path = {};
  std::vector<AdapterPair> pairs = {};   // By layer, then in the order above; one or more.

  int64_t Bytes() const;                 // All A and B together.
};

// An adapter with an open file. Everything except the numbers is checked. The numbers can be read again and again, without the rest of the
// file. Threads: thread-safe.
class AdapterReader {
 public:
  // Opens an adapter like ReadAdapter. Neither model nor configuration is used after Open.
  static absl::StatusOr<std::unique_ptr<AdapterReader>> Open(const std::string& path, const MarkedModel& model, const ModelConfig& config);
  virtual ~AdapterReader() = default;

  // Returns the adapter without numbers: matrices have no bytes, and nothing is known of NaN and infinity in the matrices.
  const AdapterFile& shapes() const { return shapes_; }
  // Reads the pairs with numbers. use(i, pair) gets shapes().pairs[i] as soon as the pair's numbers are read, in the order of the file. The
  // file is read from start to end, at the drive's speed (GgufFile::ReadThrough). An error of `use` ends the reading. Returns
  // FailedPrecondition (file, changed property) if the file was written since Open: then no pair counts.
  virtual absl::Status ReadPairs(absl::FunctionRef<absl::Status(size_t number, AdapterPair&& pair)> use) const = 0;
  // Reads all pairs.
  absl::StatusOr<AdapterFile> Read() const;

 protected:
  explicit AdapterReader(AdapterFile shapes) : shapes_(std::move(shapes)) {}
  AdapterFile shapes_;
};

// kShapes: AdapterReader::shapes alone.
enum class AdapterRead : uint8_t { kAll, kShapes };

// Reads an adapter. path: a folder of PEFT or mlx-lm, or a GGUF file. model: a GgufFile, a ModelFile or, for several adapters, a
// MarkedModel of either file. Only the model's vectors are read, once, and only for an adapter with a mark. config: read from the model.
absl::StatusOr<AdapterFile> ReadAdapter(const std::string& path, const MarkedModel& model, const ModelConfig& config,
                                        AdapterRead read = AdapterRead::kAll);

}  // namespace tessera
