// A copy of a model with few bits per weight, made once and kept in the cache: a draft that every model has.
//
//   ASSIGN_OR_RETURN(const LowBitCopy copy, LowBitCopy::Of("model.gguf", "q3"));
//   absl::Status there = copy.Check();                                  // NotFound: so far nobody has made it
//   if (!there.ok()) RETURN_IF_ERROR(copy.Make(pool));
//   options.model_path = copy.path();                                   // ~/.cache/tessera/drafts/model.q3-3b0c4429....tsr
//
// q2, q3: matrices of the layers in groups of 32 with code books of two and three bits (T2, T3 of tessera_quantize); q4: Q4_0. Head and
// embedding table keep their format if it has at most 5 bits per weight, else they become Q4_0. The name has the SHA-256 of the model's
// file, so another model under the same name gets a copy of its own, even with the same size and time. The sum is kept beside
// (base/known_sum.h), so that a model is not read again at each start. Copies and sums may be removed at any time.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/weight_recipe.h"

namespace tessera {

class LowBitCopy {
 public:
  // The memory that Make needs beside the program: PackModel's, and a little more.
  static constexpr int64_t kMakingBytes = int64_t{320} << 20;

  static const std::vector<std::string>& Names();   // "q2", "q3", "q4".

  // Nothing is written. The errors of ModelFile::Open; WrongUsage (draft_model) for a packed model, of which no copy can be made, and where
  // there is no cache folder. REQUIRES: one of Names().
  static absl::StatusOr<LowBitCopy> Of(const std::string& model, absl::string_view name);

  const std::string& path() const { return path_; }
  const std::string& model() const { return file_->path(); }

  // Reads the beginning of the file. NotFound: there is none. Else what is wrong with it: it can be made again.
  absl::Status Check() const;
  // Says on standard error what it makes, and how far that has come. An old file is replaced once the new one is whole and verified. The
  // errors of PackPlan::Make and PackModel.
  absl::Status Make(ThreadPool& pool) const;
  // Makes it unless it is there. One that is broken is made again, with a warning; so is one of an earlier version, which knew its model by
  // name, size and time of writing alone.
  absl::Status Prepare(ThreadPool& pool) const;

  // Memory that its weights take, whether it is there or not. The errors of WeightLayout::Plan.
  absl::StatusOr<int64_t> WeightBytes() const;

 private:
  LowBitCopy() = default;

  std::shared_ptr<ModelFile> file_;
  WeightRecipe recipe_;
  std::string path_, name_before_sum_;
};

}  // namespace tessera
