#include "tessera/apps/show/states_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tessera/base/half.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {
namespace {

// The numbers of the tensors in the writer.
constexpr int kTokens = 0, kStarts = 1, kPrompts = 2, kHidden = 3;

template <typename T>
absl::Span<const std::byte> BytesOf(absl::Span<const T> numbers) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(numbers.data()), numbers.size() * sizeof(T));
}

std::string HiddenName(int layer) { return absl::StrCat("hidden.", layer); }

std::vector<SafetensorsWriter::Tensor> TensorsOf(const StatesFile::Content& content, const StatesTexts& texts) {
  const int64_t rows = texts.rows();
  std::vector<SafetensorsWriter::Tensor> tensors = {{"tokens", SafetensorsType::kI32, {rows}},
                                                    {"starts", SafetensorsType::kI64, {texts.count() + 1}},
                                                    {"prompts", SafetensorsType::kI64, {texts.count()}}};
  for (const int layer : content.layers) tensors.push_back({HiddenName(layer), content.numbers, {rows, content.width}});
  if (content.all_logits) {
    tensors.push_back({"logits", content.numbers, {rows, content.vocabulary}});
  } else if (content.top > 0) {
    tensors.push_back({"top_tokens", SafetensorsType::kI32, {rows, content.top}});
    tensors.push_back({"top_logits", SafetensorsType::kF32, {rows, content.top}});
  }
  if (content.has_logits()) tensors.push_back({"logsumexp", SafetensorsType::kF32, {rows}});
  return tensors;
}

// Returns the tensor's count; 0 for a tensor that is not there.
int64_t CountOf(const SafetensorsFile& file, const char* name) {
  const SafetensorsTensor* const tensor = file.FindTensor(name);
  return tensor == nullptr ? 0 : tensor->count;
}

// Returns all numbers of a tensor of one dimension.
template <typename T>
absl::StatusOr<std::vector<T>> Numbers(const SafetensorsFile& file, const char* name, SafetensorsType type) {
  const SafetensorsTensor* const tensor = file.FindTensor(name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), ": found no tensor ", Quoted(name), ", expected a file of tessera_quantize states"));
  }
  if (tensor->type != type || tensor->shape.size() != 1) {
    return file.WrongTensor(name, "", absl::StrCat("found ", InfoOf(tensor->type).name, " of ", tensor->shape.size(),
                                                   " dimensions, expected ", InfoOf(type).name, " of one"));
  }
  std::vector<T> numbers(static_cast<size_t>(tensor->count));
  RETURN_IF_ERROR(file.Read(*tensor, 0, absl::MakeSpan(reinterpret_cast<std::byte*>(numbers.data()), numbers.size() * sizeof(T))));
  return numbers;
}

}  // namespace

absl::StatusOr<StatesTexts> StatesTexts::Read(const std::string& path, int context, int vocabulary, const RequestLimits& limits) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  RETURN_IF_ERROR(limits.CheckKept(BytesOf(std::max(CountOf(*file, "starts"), CountOf(*file, "prompts")), CountOf(*file, "tokens"))));
  ASSIGN_OR_RETURN(std::vector<TokenId> tokens, Numbers<TokenId>(*file, "tokens", SafetensorsType::kI32));
  ASSIGN_OR_RETURN(std::vector<int64_t> starts, Numbers<int64_t>(*file, "starts", SafetensorsType::kI64));
  ASSIGN_OR_RETURN(std::vector<int64_t> prompts, Numbers<int64_t>(*file, "prompts", SafetensorsType::kI64));
  const auto wrong = [&](const char* tensor, int64_t place, int64_t found, const std::string& expected) {
    return file->WrongTensor(tensor, "", absl::StrCat("number ", place, ": found ", found, ", expected ", expected));
  };
  if (starts.size() != prompts.size() + 1) {
    return file->WrongTensor("starts", "", absl::StrCat("found ", starts.size(), " numbers, expected ", prompts.size() + 1));
  }
  const int64_t all = static_cast<int64_t>(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return wrong("tokens", static_cast<int64_t>(i), tokens[i], absl::StrCat("0 to ", vocabulary - 1));
  }
  if (starts.front() != 0) return wrong("starts", 0, starts.front(), "0");
  if (starts.back() != all) return wrong("starts", static_cast<int64_t>(prompts.size()), starts.back(), absl::StrCat(all));
  for (size_t i = 0; i < prompts.size(); ++i) {
    const int64_t begin = starts[i], end = starts[i + 1];   // begin is checked: an earlier end, or 0.
    if (end <= begin || end > all || end - begin > context) {
      return wrong("starts", static_cast<int64_t>(i) + 1, end, absl::StrCat(begin + 1, " to ", std::min(all, begin + context)));
    }
    if (prompts[i] < 0 || prompts[i] > end - begin) {
      return wrong("prompts", static_cast<int64_t>(i), prompts[i], absl::StrCat("0 to ", end - begin));
    }
  }
  StatesTexts texts;
  texts.tokens_ = std::move(tokens);
  texts.starts_ = std::move(starts);
  texts.prompts_ = std::move(prompts);
  return texts;
}

void StatesTexts::Add(absl::Span<const TokenId> prompt, absl::Span<const TokenId> written) {
  tokens_.insert(tokens_.end(), prompt.begin(), prompt.end());
  tokens_.insert(tokens_.end(), written.begin(), written.end());
  starts_.push_back(static_cast<int64_t>(tokens_.size()));
  prompts_.push_back(static_cast<int64_t>(prompt.size()));
}

int64_t StatesTexts::BytesOf(int64_t texts, int64_t tokens) {
  constexpr int64_t kToken = sizeof(TokenId), kText = 2 * sizeof(int64_t);
  return kToken * tokens + kText * texts;
}

int64_t StatesTexts::written() const {
  int64_t given = 0;
  for (const int64_t prompt : prompts_) given += prompt;
  return rows() - given;
}

absl::Span<const TokenId> StatesTexts::Text(int64_t i) const {
  const int64_t begin = starts_[static_cast<size_t>(i)], end = starts_[static_cast<size_t>(i) + 1];
  return absl::MakeConstSpan(tokens_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

absl::StatusOr<StatesFile> StatesFile::Create(const std::string& path, const Content& content, const StatesTexts& texts) {
  ASSIGN_OR_RETURN(SafetensorsWriter writer,
                   SafetensorsWriter::Create(path, TensorsOf(content, texts), {{"made_by", "tessera_states"},
                                                                              {"vocabulary", absl::StrCat(content.vocabulary)}}));
  RETURN_IF_ERROR(writer.Append(kTokens, BytesOf(texts.tokens())));
  RETURN_IF_ERROR(writer.Append(kStarts, BytesOf(texts.starts())));
  RETURN_IF_ERROR(writer.Append(kPrompts, BytesOf(texts.prompts())));
  return StatesFile(path, content, std::move(writer));
}

absl::Status StatesFile::AddNumbers(int tensor, const std::string& name, absl::Span<const float> numbers) {
  const bool is_half = content_.numbers == SafetensorsType::kF16;
  constexpr float kMostHalf = 65504.0f;
  for (const float number : numbers) {
    if (std::isfinite(number) && (!is_half || std::abs(number) <= kMostHalf)) continue;
    return absl::InvalidArgumentError(absl::StrCat(path_, ": tensor ", Quoted(name), ": found ", number, ", expected a finite number",
                                                   is_half ? " up to 65504, or numbers of F32" : ""));
  }
  if (!is_half) return writer_.Append(tensor, BytesOf(numbers));
  halves_.resize(numbers.size());
  std::transform(numbers.begin(), numbers.end(), halves_.begin(), FloatToHalf);
  return writer_.Append(tensor, BytesOf(absl::MakeConstSpan(halves_)));
}

absl::Status StatesFile::AddHidden(size_t which, TensorView<const float> rows) {
  const std::string name = HiddenName(content_.layers[which]);
  for (int64_t r = 0; r < rows.rows(); ++r) {
    const absl::Span<const float> row(rows.row(r), static_cast<size_t>(rows.columns()));
    RETURN_IF_ERROR(AddNumbers(kHidden + static_cast<int>(which), name, row));
  }
  return absl::OkStatus();
}

absl::Status StatesFile::AddLogits(absl::Span<const float> row, double log_sum_exp, absl::Span<const TokenId> largest) {
  int tensor = kHidden + static_cast<int>(content_.layers.size());
  if (content_.all_logits) {
    RETURN_IF_ERROR(AddNumbers(tensor++, "logits", row));
  } else {
    std::vector<float> logits;
    for (const TokenId token : largest) logits.push_back(row[static_cast<size_t>(token)]);
    RETURN_IF_ERROR(writer_.Append(tensor++, BytesOf(largest)));
    RETURN_IF_ERROR(writer_.Append(tensor++, BytesOf(absl::MakeConstSpan(logits))));
  }
  const float sum = static_cast<float>(log_sum_exp);
  return writer_.Append(tensor, BytesOf(absl::MakeConstSpan(&sum, 1)));
}

}  // namespace tessera
