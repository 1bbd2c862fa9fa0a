// Computes the mark of a model: a number of the model's vectors (norms, biases). By this mark a file names the model that it was made for,
// regardless of the format of the model's matrices (Importance::ModelMark).
//
//   const MarkedModel marked(*model_file);                                // a ModelFile, or a GgufFile
//   ASSIGN_OR_RETURN(const uint32_t mark, marked.Vectors());              // reads the vectors, once
//   if (mark != found) return Refuse(marked.path(), found, mark);
//
// A packed model has the same mark as the GGUF model that it was packed from: the vectors lie in the packed units, in FP32. The file must
// outlive this object. Thread-safe.
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
  // Implicit, so that a function with a MarkedModel parameter also takes a model's file.
  MarkedModel(const ModelFile& file) : gguf_(file.gguf()), file_(&file) {}   // NOLINT(google-explicit-constructor)
  MarkedModel(const GgufFile& file) : gguf_(file) {}                         // NOLINT(google-explicit-constructor)
  MarkedModel(const MarkedModel&) = delete;
  MarkedModel& operator=(const MarkedModel&) = delete;

  const std::string& path() const { return gguf_.path(); }
  // Returns the mark of the whole model. Returns the errors of ReadModelConfig, of GgufFile::Read and, for a packed model, of
  // ModelFile::PlanWeights and TsrReader::ReadBlock. Errors are not kept.
  absl::StatusOr<uint32_t> Vectors() const;

 private:
  absl::StatusOr<uint32_t> Read() const;

  const GgufFile& gguf_;
  const ModelFile* const file_ = nullptr;   // Null: a GGUF file.
  mutable std::mutex mutex_;
  mutable std::optional<uint32_t> mark_;    // The mark, once read.
};

}  // namespace tessera
