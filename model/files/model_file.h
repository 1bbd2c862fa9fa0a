// A model's file: GGUF, or packed from GGUF (.tsr). Its first bytes decide which, not its name.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open("model.tsr"));
//   ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(file->gguf()));
//   ASSIGN_OR_RETURN(WeightLayout layout, file->PlanWeights(config, WeightEncoding::kPacked));
//   ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> weights, file->LoadWeights(layout, pool));
//
// A packed file keeps the header of its GGUF file, so metadata, configuration, tokenizer and layout come from the same code.
// Offsets in messages about the header are offsets in that GGUF file. Both files are hostile until checked; errors are those of GgufFile,
// TsrReader and WeightLayout, and name the file, what was found and what expected. Thread-safe after Open, except for LoadWeights.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/loading_source.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

class ModelFile {
 public:
  // kAtOnce: LoadWeights will follow, so threads begin to read the weights of a packed file now, while the header is parsed. cancel: see
  // LoadingSource.
  enum class Weights { kAtOnce, kLater };
  static absl::StatusOr<std::unique_ptr<ModelFile>> Open(const std::string& path, Weights weights = Weights::kLater,
                                                         const std::atomic<bool>* cancel = nullptr);

  const std::string& path() const { return gguf_->path(); }  // A split model has the path of its first part.
  const GgufFile& gguf() const { return *gguf_; }            // For a packed file only the header, without tensors' data.
  const TsrReader* packed() const { return packed_.get(); }  // Null for GGUF.

  // For a packed file: InvalidArgument if its units are not those of the layout, with the first difference, or if it does not hold the
  // encoding.
  absl::StatusOr<WeightLayout> PlanWeights(const ModelConfig& config, WeightEncoding encoding) const;

  // All units. From GGUF all threads of the pool pack them before this returns; a packed file is read while its units are used (see
  // LoadingSource). The result must end before the file. REQUIRES: PlanWeights gave the layout; LoadWeights was not called before.
  absl::StatusOr<std::unique_ptr<WeightSource>> LoadWeights(const WeightLayout& layout, ThreadPool& pool,
                                                            const std::atomic<bool>* cancel = nullptr);

 private:
  ModelFile() = default;

  std::unique_ptr<TsrReader> packed_;
  std::unique_ptr<GgufFile> gguf_;
  std::unique_ptr<LoadingSource> loading_;  // Until LoadWeights hands it out. Reads packed_.
};

}  // namespace tessera
