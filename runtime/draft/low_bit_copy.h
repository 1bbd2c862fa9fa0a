// A copy of a model with few bits per weight, made once and kept in the cache: a draft that every model has.
//
//   ASSIGN_OR_RETURN(const LowBitCopy copy, LowBitCopy::Of("model.gguf", "q3", cache_folder));
//   absl::Status there = copy.Check();                                  // NotFound: so far nobody has made the copy
//   if (!there.ok()) RETURN_IF_ERROR(copy.Make(pool));
//   options.model_path = copy.path();                                   // CACHE/drafts/model.q3-3b0c4429....tsr
//
// q2, q3: matrices of the layers in groups of 32 with code books of two and three bits (T2, T3 of tessera_quantize); q4: Q4_0. Head and
// embedding table keep their format if that has at most 5 bits per weight, else they become Q4_0. The name has the SHA-256 of the model's
// file. Another model under the same name gets another copy, even with the same size and time. The sum is kept in CACHE/sums
// (base/known_sum.h), so that a model is not read again at each start. Copies and sums may be removed at any time.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/pack.h"
#include "tessera/model/files/weight_recipe.h"

namespace tessera {

// Functions that hear of a draft model that is opened. Each function may be null, and is called on the thread that opens.
struct DraftMessages {
  // Something is not as it should be: a copy that is broken and made again, or a copy of an earlier version.
  std::function<void(const std::string& warning)> on_warning = nullptr;
  // A sentence on what is done, or on what will not be drafted.
  std::function<void(const std::string& note)> on_note = nullptr;
  // Makes a function that is told how far a copy has come, as PackModel has it. The function goes once the copy is there, or has failed.
  std::function<std::function<void(PackStage stage, int64_t done, int64_t total)>()> new_progress = nullptr;

  void Warn(const std::string& warning) const { if (on_warning != nullptr) on_warning(warning); }
  void Note(const std::string& note) const { if (on_note != nullptr) on_note(note); }
};

class LowBitCopy {
 public:
  // The memory that Make needs in addition to the program: PackModel's, and a little more.
  static constexpr int64_t kMakingBytes = int64_t{320} << 20;

  static const std::vector<std::string>& Names();   // "q2", "q3", "q4".

  // Finds the copy's path; writes no copy. cache_folder: where copies and sums are kept. The errors of ModelFile::Open; WrongUsage
  // (draft_model) for a packed model, of which no copy can be made, and WrongUsage (cache_folder) for an empty folder. REQUIRES: one of
  // Names().
  static absl::StatusOr<LowBitCopy> Of(const std::string& model, absl::string_view name, const std::string& cache_folder);

  const std::string& path() const { return path_; }
  const std::string& model() const { return file_->path(); }

  // Reads the beginning of the file. NotFound: there is none. Else the error says what is wrong with the file, which can be made again.
  absl::Status Check() const;
  // Makes the copy, and notes so. An old file is replaced once the new one is whole and verified. The errors of PackPlan::Make and
  // PackModel.
  absl::Status Make(ThreadPool& pool, const DraftMessages& messages = {}) const;
  // Makes the copy unless it is there. A broken copy is made again, with a warning. Copies of earlier versions, which knew their model by
  // name, size and time of writing alone, are not used, with a warning.
  absl::Status Prepare(ThreadPool& pool, const DraftMessages& messages = {}) const;

  // Returns the memory that the copy's weights take, whether it is there or not. The errors of WeightLayout::Plan.
  absl::StatusOr<int64_t> WeightBytes() const;

 private:
  LowBitCopy() = default;

  std::shared_ptr<ModelFile> file_;
  WeightRecipe recipe_;
  std::string path_, name_before_sum_;
};

}  // namespace tessera
