#include "tessera/model/files/marked_model.h"

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {
namespace {

// The CRC-32C of a packed model's vectors. Reads only the blocks with vectors, each checked.
class PackedVectors {
 public:
  explicit PackedVectors(const TsrReader& reader) : reader_(reader) {}

  absl::Status Add(const TensorPart& part) {
    const int64_t end = part.offset + part.weight.spec.in_features * static_cast<int64_t>(sizeof(float));
    for (int64_t at = part.offset; at < end;) {
      const int64_t begin = at / kTsrBlockBytes * kTsrBlockBytes;   // Start of the block, in the unit.
      RETURN_IF_ERROR(ReadBlock(part.unit, begin));
      const int64_t stop = std::min(end, begin + kTsrBlockBytes);
      crc_ = Crc32c(bytes_.bytes().subspan(static_cast<size_t>(at - begin), static_cast<size_t>(stop - at)), crc_);
      at = stop;
    }
    return absl::OkStatus();
  }
  uint32_t crc() const { return crc_; }

 private:
  absl::Status ReadBlock(int unit, int64_t begin) {
    const int64_t block = reader_.FirstBlock(unit) + begin / kTsrBlockBytes;
    if (block == block_) return absl::OkStatus();
    block_ = -1;
    if (bytes_.size() == 0) {
      ASSIGN_OR_RETURN(bytes_, AlignedBuffer::Allocate(kTsrBlockBytes, AlignedBuffer::Pages::kSmall, reader_.path()));
    }
    const int64_t size = std::min(kTsrBlockBytes, reader_.StoredBytes(unit) - begin);
    RETURN_IF_ERROR(reader_.ReadBlock(block, bytes_.bytes().first(static_cast<size_t>(size))));
    block_ = block;
    return absl::OkStatus();
  }

  const TsrReader& reader_;
  AlignedBuffer bytes_;
  int64_t block_ = -1;   // The block in bytes_.
  uint32_t crc_ = 0;
};

}  // namespace

absl::StatusOr<uint32_t> MarkedModel::Vectors() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!mark_.has_value()) {
    ASSIGN_OR_RETURN(mark_, Read());
  }
  return *mark_;
}

absl::StatusOr<uint32_t> MarkedModel::Read() const {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(gguf_));
  if (file_ == nullptr || file_->packed() == nullptr) {
    ASSIGN_OR_RETURN(const Importance::ModelMark mark, Importance::MarkOf(gguf_, config));
    return mark.vectors;
  }
  ASSIGN_OR_RETURN(const WeightLayout layout, file_->PlanWeights(config, file_->encoding()));
  PackedVectors vectors(*file_->packed());
  for (const TensorNeed& need : AllNeeds(config)) {
    if (!need.vector) continue;
    for (const TensorPart& part : layout.Parts(need.name)) RETURN_IF_ERROR(vectors.Add(part));
  }
  return vectors.crc();
}

}  // namespace tessera
