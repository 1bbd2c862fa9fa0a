// Maps the states after a model's first layers before the model's own norm and head, so that early layers predict the output of all layers.
// scripts/train/exit_predictor.py --kind=width trains a map.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ExitMap> map, ExitMap::Open("exit.safetensors", FirstLayers(config, 8)));
//   RETURN_IF_ERROR(map->Apply(states, mapped, pool));                    // both [rows, width]; mapped[r] = M states[r]
//   ASSIGN_OR_RETURN(auto runner, PassRunner::Create(..., {.exit_map = map.get(), .pool = &pool}));      // for all logits
//
// The file holds one tensor, predictor.map of [width, width] in F32, F16 or BF16. The file may hold texts with the map's layer ("layer":
// "8") and kind ("kind": "width"), which must then agree. Numbers keep the file's 32 or 16 bits; arithmetic is FP32. The bits of a row do
// not depend on the other rows. Errors: InvalidArgument with file, tensor or text, found and expected; the errors of SafetensorsFile.
// Threads: Apply from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/quant/matmul.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class ExitMap {
 public:
  // Opens a map. config: of the layers in front of the map, no more.
  static absl::StatusOr<std::unique_ptr<ExitMap>> Open(const std::string& path, const ModelConfig& config);
  static absl::StatusOr<std::unique_ptr<ExitMap>> Read(const SafetensorsFile& file, const ModelConfig& config);

  // Multiplies each state by the map. states, mapped: [rows, width], without overlap. Returns ResourceExhausted if memory is exhausted.
  absl::Status Apply(TensorView<const float> states, TensorView<float> mapped, ThreadPool& pool) const;

  int64_t bytes() const { return buffer_.size(); }

 private:
  ExitMap(AlignedBuffer buffer, const PackedMatrix& matrix) : buffer_(std::move(buffer)), matrix_(matrix) {}

  const AlignedBuffer buffer_;
  const PackedMatrix matrix_;   // Views the buffer's bytes.
  mutable MatMulScratch scratch_;
};

}  // namespace tessera
