// A small file of tensors, with texts that describe the tensors: safetensors or GGUF, by the file's first bytes.
//
//   ASSIGN_OR_RETURN(const TensorFile file, TensorFile::Open("reward.safetensors"));
//   for (const std::string& name : file.names()) ...
//   ASSIGN_OR_RETURN(const std::vector<float> numbers, file.Read("score.weight", {1, width}));
//   ASSIGN_OR_RETURN(const std::optional<std::string> layer, file.Text("layer"));
//
// In a safetensors file, texts are in __metadata__. In GGUF, texts are strings below a prefix ("reward.layer"), or, for keys with a dot,
// under the key itself. Numbers are F32, F16 or BF16, and finite. Errors: InvalidArgument with file, tensor or text, found and expected;
// the errors of opening either kind of file. Threads: thread-safe once open.
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
  // The file must outlive this object.
  explicit TensorFile(const SafetensorsFile& file) : safetensors_(&file) {}

  const std::string& path() const { return gguf_ != nullptr ? gguf_->path() : safetensors_->path(); }
  std::vector<std::string> names() const;   // In the file's order.
  bool Has(absl::string_view name) const;
  // Returns the shape, slowest dimension first; nullopt: no tensor of this name.
  std::optional<std::vector<int64_t>> ShapeOf(absl::string_view name) const;
  // Reads a tensor. Also returns InvalidArgument if the tensor is missing or has another shape.
  absl::StatusOr<std::vector<float>> Read(absl::string_view name, absl::Span<const int64_t> shape) const;
  // Returns the text for a key; nullopt: the file has none.
  absl::StatusOr<std::optional<std::string>> Text(absl::string_view key) const;

  absl::Status WrongTensor(absl::string_view name, absl::string_view field, absl::string_view problem) const;
  // found: empty for none.
  absl::Status WrongText(absl::string_view key, const std::optional<std::string>& found, absl::string_view expected) const;
  absl::Status CheckUnchanged() const { return gguf_ != nullptr ? gguf_->CheckUnchanged() : safetensors_->CheckUnchanged(); }

 private:
  std::unique_ptr<GgufFile> gguf_;           // Null: the file is safetensors.
  std::unique_ptr<SafetensorsFile> own_;     // A safetensors file opened here.
  const SafetensorsFile* safetensors_ = nullptr;
};

}  // namespace tessera
