#include "tessera/model/exit_predictor.h"

#include <algorithm>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/exit_file.h"
#include "tessera/model/internal/head_rows.h"
#include "tessera/quant/matmul.h"

namespace tessera {
namespace {

// Sums in eight parts, so that a compiler can keep the sums in a vector.
float Dot(const float* a, const float* b, int64_t count) {
  float sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float rest = 0;
  for (; i < count; ++i) rest += a[i] * b[i];
  for (const float sum : sums) rest += sum;
  return rest;
}

}  // namespace

ExitPredictor::ExitPredictor(const ModelConfig& config, Kind kind, int layer)
    : kind_(kind), layer_(layer), layers_(static_cast<int>(config.layers.size())), vocabulary_(config.vocabulary), width_(config.width),
      cap_(config.logit_cap) {}
ExitPredictor::ExitPredictor(ExitPredictor&& other) noexcept = default;
ExitPredictor::~ExitPredictor() = default;

absl::StatusOr<ExitPredictor> ExitPredictor::Load(const std::string& path, const ModelConfig& config, const WeightLayout& layout,
                                                  WeightSource& source) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  ASSIGN_OR_RETURN(ExitPredictor predictor, Read(*file, config, layout, source));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return predictor;
}

absl::StatusOr<ExitPredictor> ExitPredictor::Read(const SafetensorsFile& file, const ModelConfig& config, const WeightLayout& layout,
                                                  WeightSource& source) {
  ASSIGN_OR_RETURN(const std::string kind_name, ExitText(file, "kind", {kExitVocabulary, kExitWidth}));
  const Kind kind = kind_name == kExitVocabulary ? Kind::kVocabulary : Kind::kWidth;
  const int layers = static_cast<int>(config.layers.size());
  ASSIGN_OR_RETURN(const int layer, ExitNumber(file, "layer", 1, layers - 1));
  if (file.FindMetadata("layers") != nullptr) RETURN_IF_ERROR(ExitNumber(file, "layers", layers, layers).status());
  ExitPredictor predictor(config, kind, layer);
  RETURN_IF_ERROR(kind == Kind::kVocabulary ? predictor.KeepRows(file) : predictor.KeepMap(file));
  if (kind == Kind::kVocabulary) return predictor;
  absl::StatusOr<HeadRows> head = HeadRows::Create(config, layout, source);
  if (!head.ok()) return absl::Status(head.status().code(), absl::StrCat(file.path(), ": ", head.status().message()));
  predictor.head_ = std::make_unique<const HeadRows>(*std::move(head));
  return predictor;
}

absl::Status ExitPredictor::KeepRows(const SafetensorsFile& file) {
  ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindExitRows(file, vocabulary_, width_));
  ASSIGN_OR_RETURN(format_, file.FormatOf(*tensor));
  ASSIGN_OR_RETURN(rows_, file.ReadFinite(*tensor));
  return absl::OkStatus();
}

absl::Status ExitPredictor::KeepMap(const SafetensorsFile& file) {
  ASSIGN_OR_RETURN(FileMatrix read, ReadExitMap(file, width_));
  packed_ = std::move(read.buffer);
  map_ = read.matrix;
  return absl::OkStatus();
}

int64_t ExitPredictor::bytes() const {
  return static_cast<int64_t>(rows_.capacity()) + packed_.size() + (head_ == nullptr ? 0 : head_->bytes());
}

absl::Status ExitPredictor::CheckFits(const ModelConfig& config, const WeightSource& source) const {
  const auto check = [](absl::string_view what, int64_t found, int64_t expected) -> absl::Status {
    if (found == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(what, " of an exit predictor: found ", found, ", expected ", expected));
  };
  RETURN_IF_ERROR(check("layers", layers_, static_cast<int64_t>(config.layers.size())));
  RETURN_IF_ERROR(check("width", width_, config.width));
  RETURN_IF_ERROR(check("vocabulary", vocabulary_, config.vocabulary));
  if (head_ == nullptr || head_->source() == &source) return absl::OkStatus();
  return absl::InvalidArgumentError("head of an exit predictor: found that of weights loaded elsewhere, expected this engine's");
}

absl::Status ExitPredictor::Score(absl::Span<const Question> questions, ThreadPool& pool) const {
  for (const Question& question : questions) {
    CHECK_EQ(question.tokens.size(), question.scores.size()) << "a score per token";
    for (const TokenId token : question.tokens) {
      if (token >= 0 && token < vocabulary_) continue;
      return absl::InvalidArgumentError(absl::StrCat("exit predictor: found token ", token, ", expected 0 to ", vocabulary_ - 1));
    }
  }
  if (kind_ == Kind::kWidth) return ScoreByHead(questions, pool);
  ScoreByRows(questions);
  return absl::OkStatus();
}

void ExitPredictor::ScoreByRows(absl::Span<const Question> questions) const {
  std::vector<float> row(static_cast<size_t>(width_));
  const int64_t row_bytes = width_ * InfoOf(format_).bytes_per_block;   // A block of plain floats is a number.
  for (const Question& question : questions) {
    for (size_t i = 0; i < question.tokens.size(); ++i) {
      InfoOf(format_).dequantize(rows_.data() + question.tokens[i] * row_bytes, width_, row.data());
      question.scores[i] = Dot(question.state, row.data(), width_);
    }
  }
}

absl::StatusOr<std::vector<float>> ExitPredictor::MapStates(absl::Span<const Question> questions, ThreadPool& pool) const {
  const int64_t count = static_cast<int64_t>(questions.size());
  std::vector<float> states(questions.size() * static_cast<size_t>(width_)), mapped(states.size());
  for (int64_t i = 0; i < count; ++i) std::copy_n(questions[static_cast<size_t>(i)].state, width_, states.data() + i * width_);
  MatMulScratch scratch;
  const TensorView<const float> x(states.data(), count, width_);
  RETURN_IF_ERROR(MatMul(*map_, x, TensorView<float>(mapped.data(), count, width_), pool, scratch));
  for (int64_t i = 0; i < count; ++i) head_->Normalize(mapped.data() + i * width_);
  return mapped;
}

absl::Status ExitPredictor::ScoreByHead(absl::Span<const Question> questions, ThreadPool& pool) const {
  struct Asked {
    TokenId token;
    size_t question, place;
  };
  ASSIGN_OR_RETURN(const std::vector<float> states, MapStates(questions, pool));
  std::vector<Asked> asked;
  for (size_t q = 0; q < questions.size(); ++q) {
    for (size_t i = 0; i < questions[q].tokens.size(); ++i) asked.push_back({questions[q].tokens[i], q, i});
  }
  std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.token < b.token; });
  std::vector<TokenId> tokens;
  for (const Asked& one : asked) {
    if (tokens.empty() || tokens.back() != one.token) tokens.push_back(one.token);
  }
  auto next = asked.begin();
  return head_->Visit(tokens, [&](TokenId token, const float* row) {
    for (; next != asked.end() && next->token == token; ++next) {
      float& score = questions[next->question].scores[next->place];
      score = Dot(states.data() + static_cast<int64_t>(next->question) * width_, row, width_);
      if (cap_ > 0) score = static_cast<float>(cap_ * elementary::Tanh(score / cap_));
    }
  });
}

}  // namespace tessera
