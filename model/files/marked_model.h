// The mark of a model: a number of its vectors (norms, biases), by which a file says for which model it was made, whatever the format of
// the model's matrices (Importance::ModelMark).
//
//   const MarkedModel marked(*model_file);                                // a ModelFile, or a GgufFile
//   ASSIGN_OR_RETURN(const uint32_t mark, marked.Vectors());              // reads the vectors, once
//   if (mark != found) return Refuse(marked.path(), found, mark);
//
// A packed model has the same mark as the GGUF model that it was packed from: its vectors lie in its units, in FP32. The file must outlive
// this. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/model_file.h"

namespace tessera {

class MarkedModel {
 public:
  // Implicit, so that whatever takes one takes a model's file.
  MarkedModel(const ModelFile& file) : gguf_(file.gguf()), file_(&file) {}   // NOLINT(google-explicit-constructor)
  MarkedModel(const GgufFile& file) : gguf_(file) {}                         // NOLINT(google-explicit-constructor)
  MarkedModel(const MarkedModel&) = delete;
  MarkedModel& operator=(const MarkedModel&) = delete;

  const std::string& path() const { return gguf_.path(); }
  // That of the whole model. The errors of ReadModelConfig, of GgufFile::Read and, for a packed model, of ModelFile::PlanWeights and
  // TsrReader::ReadBlock; they are not kept.
  absl::StatusOr<uint32_t> Vectors() const;

 private:
  absl::StatusOr<uint32_t> Read() const;

  const GgufFile& gguf_;
  const ModelFile* const file_ = nullptr;   // Null: a GGUF file.
  mutable std::mutex mutex_;
  mutable std::optional<uint32_t> mark_;    // Once it was read.
};

}  // namespace tessera
