// Fills the units of a layout from a GGUF file, several at once.
//
//   UnitFiller filler(file, layout, {.importance = importance});
//   ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, RoomFor(layout, file.path()));
//   RETURN_IF_ERROR(ForEachLargestFirst(sizes, pool, [&](int unit) { return filler.Fill(unit, source->Unit(unit)); }));
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/internal/form_rows.h"
#include "tessera/model/files/weights.h"

namespace tessera {

// The largest magnitudes of whole matrices. The first thread that asks for a matrix computes the magnitude; other threads wait for the
// result.
class LargestMagnitudes {
 public:
  absl::StatusOr<float> Of(const std::string& tensor, absl::FunctionRef<absl::StatusOr<float>()> look_for);

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<absl::StatusOr<float>> found;
  };
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
};

class UnitFiller {
 public:
  // All arguments must outlive the filler.
  UnitFiller(const GgufFile& file, const WeightLayout& layout, const FillOptions& options)
      : file_(file), layout_(layout), options_(options) {}

  // Fills a unit like FillUnit.
  absl::Status Fill(int unit, absl::Span<std::byte> out);

 private:
  absl::Status FillMatrix(const GgufTensor& tensor, const TensorPart& part, absl::Span<std::byte> out);
  absl::StatusOr<TileMatrix::Choice> ChoiceFor(const GgufTensor& tensor, const GraphWeight& weight);
  absl::StatusOr<float> LargestOf(const GgufTensor& tensor) const;

  const GgufFile& file_;
  const WeightLayout& layout_;
  const FillOptions options_;
  LargestMagnitudes largest_;
};

// Returns zeroed units of the layout's sizes. An error names the file, and says that the bytes are for the file's weights.
absl::StatusOr<std::unique_ptr<ResidentSource>> RoomFor(const WeightLayout& layout, const std::string& path);

// Calls `work` with each index of `sizes` once, on all threads of the pool. The largest sizes come first, so that no thread is left with a
// large one at the end. Returns the error of the smallest index; ResourceExhausted if memory is exhausted.
absl::Status ForEachLargestFirst(absl::Span<const int64_t> sizes, ThreadPool& pool, absl::FunctionRef<absl::Status(int)> work);

}  // namespace tessera
