// A small file of tensors and texts that say what they are: safetensors or GGUF, told apart by its first bytes.
//
//   ASSIGN_OR_RETURN(const TensorFile file, TensorFile::Open("reward.safetensors"));
//   for (const std::string& name : file.names()) ...
//   ASSIGN_OR_RETURN(const std::vector<float> numbers, file.Read("score.weight", {1, width}));
//   ASSIGN_OR_RETURN(const std::optional<std::string> layer, file.Text("layer"));
//
// Texts are a safetensors file's __metadata__; in GGUF they are strings below a prefix ("reward.layer") or, where they have a dot, as they
// are. Numbers are F32, F16 or BF16, and
// finite. Errors are InvalidArgument with file, tensor or text, found and expected; those of opening either kind of file. Thread-safe once
// open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {

class TensorFile {  // Move-only.
 public:
  static constexpr char kGgufPrefix[] = "reward.";

  static absl::StatusOr<TensorFile> Open(const std::string& path);
  explicit TensorFile(std::unique_ptr<GgufFile> file) : gguf_(std::move(file)) {}
  // The file must outlive this.
  explicit TensorFile(const SafetensorsFile& file) : safetensors_(&file) {}

  const std::string& path() const { return gguf_ != nullptr ? gguf_->path() : safetensors_->path(); }
  std::vector<std::string> names() const;   // In the file's order.
  bool Has(absl::string_view name) const;
  // Slowest dimension first; nothing: there is no such tensor.
  std::optional<std::vector<int64_t>> ShapeOf(absl::string_view name) const;
  // InvalidArgument if it is not there or has another shape, too.
  absl::StatusOr<std::vector<float>> Read(absl::string_view name, absl::Span<const int64_t> shape) const;
  // Nothing: the file says nothing of it.
  absl::StatusOr<std::optional<std::string>> Text(absl::string_view key) const;

  absl::Status WrongTensor(absl::string_view name, absl::string_view field, absl::string_view problem) const;
  // found: empty for none.
  absl::Status WrongText(absl::string_view key, const std::optional<std::string>& found, absl::string_view expected) const;
  absl::Status CheckUnchanged() const { return gguf_ != nullptr ? gguf_->CheckUnchanged() : safetensors_->CheckUnchanged(); }

 private:
  std::unique_ptr<GgufFile> gguf_;           // Null: it is safetensors.
  std::unique_ptr<SafetensorsFile> own_;     // That was opened here.
  const SafetensorsFile* safetensors_ = nullptr;
};

}  // namespace tessera
