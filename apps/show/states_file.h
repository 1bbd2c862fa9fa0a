// The file of tessera_quantize states: texts as tokens, and the model's hidden states and logits for each token.
//
//   StatesTexts texts;
//   texts.Add({1, 72, 101}, {108});                                   // a prompt, and what the model wrote after it
//   ASSIGN_OR_RETURN(StatesFile file, StatesFile::Create("states.safetensors", {.layers = {0, 17}, .width = 576}, texts));
//   RETURN_IF_ERROR(file.AddHidden(/*which=*/1, rows));               // rows of all texts, in order, as they are computed
//   RETURN_IF_ERROR(file.Commit());
//
// The tensors, with N tokens in all and T texts:
// - tokens I32 [N].
// - starts I64 [T+1]: the index of each text's first token, then N.
// - prompts I64 [T]: the number of tokens of each text that were given, not written by the model.
// - hidden.L [N, width]: the row after L layers, before the output norm.
// - logits [N, vocabulary], or top_tokens I32 and top_logits F32 [N, top], the largest first.
// - logsumexp F32 [N], with either: logits minus logsumexp are logarithms of probabilities.
// Hidden states are F32 or F16, and so is the tensor of all logits. Memory does not grow with rows. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/files/safetensors_writer.h"
#include "tessera/runtime/chat/request_limits.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class StatesTexts {
 public:
  // Returns the texts of a file that was written before. InvalidArgument (file, tensor, found, expected) for a file of another kind, a
  // token outside the vocabulary, or a text of no tokens or of more than `context`. The errors of RequestLimits::CheckKept for more texts
  // than `limits` has room for, before anything is held. Also the errors of SafetensorsFile.
  static absl::StatusOr<StatesTexts> Read(const std::string& path, int context, int vocabulary, const RequestLimits& limits);

  void Add(absl::Span<const TokenId> prompt, absl::Span<const TokenId> written);

  int64_t count() const { return static_cast<int64_t>(prompts_.size()); }
  int64_t rows() const { return starts_.back(); }
  // Returns the bytes of `texts` texts with `tokens` tokens in all.
  static int64_t BytesOf(int64_t texts, int64_t tokens);
  int64_t written() const;   // Tokens that the model wrote.
  absl::Span<const TokenId> Text(int64_t i) const;   // REQUIRES: 0 <= i < count().
  absl::Span<const TokenId> tokens() const { return tokens_; }
  absl::Span<const int64_t> starts() const { return starts_; }
  absl::Span<const int64_t> prompts() const { return prompts_; }

 private:
  std::vector<TokenId> tokens_;
  std::vector<int64_t> starts_ = {0};
  std::vector<int64_t> prompts_;
};

class StatesFile {  // Move-only.
 public:
  struct Content {
    std::vector<int> layers = {};   // Ascending.
    bool all_logits = false;
    int top = 0;                    // Otherwise: the number of the largest logits.
    SafetensorsType numbers = SafetensorsType::kF32;   // Or kF16.
    int width = 0;
    int vocabulary = 0;
    bool has_logits() const { return all_logits || top > 0; }
  };

  // Begins the file. Errors, here and below: as SafetensorsWriter.
  static absl::StatusOr<StatesFile> Create(const std::string& path, const Content& content, const StatesTexts& texts);
  const Content& content() const { return content_; }

  // Adds the next rows of the layer content().layers[which]. InvalidArgument (file, tensor, found, expected) for a number that FP16 does
  // not hold, or that is not finite.
  absl::Status AddHidden(size_t which, TensorView<const float> rows);
  // Adds the next row's logits. largest: the tokens with the content().top largest logits.
  absl::Status AddLogits(absl::Span<const float> row, double log_sum_exp, absl::Span<const TokenId> largest);
  absl::Status Commit() { return writer_.Commit(); }

 private:
  StatesFile(std::string path, Content content, SafetensorsWriter writer)
      : path_(std::move(path)), content_(std::move(content)), writer_(std::move(writer)) {}
  absl::Status AddNumbers(int tensor, const std::string& name, absl::Span<const float> numbers);

  std::string path_;
  Content content_;
  SafetensorsWriter writer_;
  std::vector<uint16_t> halves_;   // Kept to spare allocations.
};

}  // namespace tessera
