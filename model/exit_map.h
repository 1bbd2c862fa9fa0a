// A map that is applied to what a model's first layers have made of a token, before the model's own norm and head: so they say earlier what
// all layers would. scripts/train/exit_predictor.py --kind=width trains it.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ExitMap> map, ExitMap::Open("exit.safetensors", FirstLayers(config, 8)));
//   RETURN_IF_ERROR(map->Apply(states, mapped, pool));                    // both [rows, width]; mapped[r] = M states[r]
//   ASSIGN_OR_RETURN(auto runner, PassRunner::Create(..., {.exit_map = map.get(), .pool = &pool}));      // for all logits
//
// The file holds one tensor, predictor.map of [width, width] in F32, F16 or BF16, and perhaps texts that say after which layer it comes
// ("layer": "8") and of which kind it is ("kind": "width"): then they must agree. Numbers keep the file's 32 or 16 bits; arithmetic is
// FP32. The bits of a row do not depend on the other rows. Errors are InvalidArgument with file, tensor or text, found and expected; those
// of SafetensorsFile. Threads: Apply from one thread at a time.
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
  // config: of the layers after which the map is applied, no more.
  static absl::StatusOr<std::unique_ptr<ExitMap>> Open(const std::string& path, const ModelConfig& config);
  static absl::StatusOr<std::unique_ptr<ExitMap>> Read(const SafetensorsFile& file, const ModelConfig& config);

  // states, mapped: [rows, width], which do not overlap. ResourceExhausted where memory ends.
  absl::Status Apply(TensorView<const float> states, TensorView<float> mapped, ThreadPool& pool) const;

  int64_t bytes() const { return buffer_.size(); }

 private:
  ExitMap(AlignedBuffer buffer, const PackedMatrix& matrix) : buffer_(std::move(buffer)), matrix_(matrix) {}

  const AlignedBuffer buffer_;
  const PackedMatrix matrix_;   // Its bytes are the buffer's.
  mutable MatMulScratch scratch_;
};

}  // namespace tessera
