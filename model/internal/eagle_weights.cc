#include "tessera/model/internal/eagle_weights.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr char kHead[] = "lm_head.weight", kEmbeddings[] = "embed_tokens.weight", kToTarget[] = "d2t", kOfTarget[] = "t2d";

struct Matrix {
  const char* name;
  FileMatrix EagleWeights::*matrix;
  int64_t rows, columns;
};
struct Vector {
  const char* name;
  std::vector<float> EagleWeights::*numbers;
};

constexpr Vector kVectors[] = {{"midlayer.input_layernorm.weight", &EagleWeights::input_norm},
                               {"midlayer.hidden_norm.weight", &EagleWeights::hidden_norm},
                               {"midlayer.post_attention_layernorm.weight", &EagleWeights::post_norm},
                               {"norm.weight", &EagleWeights::norm}};

std::array<Matrix, 8> MatricesOf(const EagleShape& shape, int64_t fused) {
  using W = EagleWeights;
  const int64_t width = shape.width, both = 2 * width;
  return {{{"fc.weight", &W::fuse, width, fused},
           {"midlayer.self_attn.q_proj.weight", &W::query, shape.queries(), both},
           {"midlayer.self_attn.k_proj.weight", &W::key, shape.keys(), both},
           {"midlayer.self_attn.v_proj.weight", &W::value, shape.keys(), both},
           {"midlayer.self_attn.o_proj.weight", &W::output, width, shape.queries()},
           {"midlayer.mlp.gate_proj.weight", &W::gate, shape.feed_forward, width},
           {"midlayer.mlp.up_proj.weight", &W::up, shape.feed_forward, width},
           {"midlayer.mlp.down_proj.weight", &W::down, width, shape.feed_forward}}};
}

absl::Status CheckNames(const SafetensorsFile& file, absl::Span<const Matrix> matrices) {
  std::set<absl::string_view> known = {kHead, kEmbeddings, kToTarget, kOfTarget};
  for (const Matrix& matrix : matrices) known.insert(matrix.name);
  for (const Vector& vector : kVectors) known.insert(vector.name);
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (known.contains(tensor.name)) continue;
    return file.WrongTensor(tensor.name, "", "found a tensor that no EAGLE-3 head has, expected those of the public layout alone");
  }
  return absl::OkStatus();
}

// Returns the configuration's vocabulary or, without one, the matrix's.
absl::StatusOr<int> VocabularyOf(const SafetensorsFile& file, const EagleShape& shape, int target_vocabulary) {
  if (shape.vocabulary > 0) return shape.vocabulary;
  const SafetensorsTensor* const head = file.FindTensor(kHead);
  if (head == nullptr) return file.WrongTensor(kHead, "", "found nothing, expected a matrix");
  const int64_t rows = head->shape.empty() ? 0 : head->shape[0];
  if (rows >= 1 && rows <= target_vocabulary) return static_cast<int>(rows);
  return file.WrongTensor(kHead, "shape", absl::StrCat("found ", rows, " rows, expected 1 to ", target_vocabulary,
                                                       ", the model's vocabulary"));
}

absl::StatusOr<std::vector<int64_t>> ReadOffsets(const SafetensorsFile& file, int vocabulary) {
  ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindShaped(file, kToTarget, {vocabulary}));
  if (tensor->type != SafetensorsType::kI64 && tensor->type != SafetensorsType::kI32) {
    return file.WrongTensor(kToTarget, "dtype", absl::StrCat("found ", InfoOf(tensor->type).name, ", expected I64 or I32"));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
  RETURN_IF_ERROR(file.Read(*tensor, 0, absl::MakeSpan(bytes)));
  std::vector<int64_t> offsets(static_cast<size_t>(vocabulary));
  for (size_t i = 0; i < offsets.size(); ++i) {
    int32_t narrow = 0;
    if (tensor->type == SafetensorsType::kI64) std::memcpy(&offsets[i], bytes.data() + i * sizeof(int64_t), sizeof(int64_t));
    else std::memcpy(&narrow, bytes.data() + i * sizeof narrow, sizeof narrow), offsets[i] = narrow;
  }
  return offsets;
}

// Checks the mask of the model's tokens, if present, against the known tokens.
absl::Status CheckMask(const SafetensorsFile& file, const std::vector<bool>& known) {
  if (file.FindTensor(kOfTarget) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindShaped(file, kOfTarget, {static_cast<int64_t>(known.size())}));
  if (tensor->type != SafetensorsType::kBool && tensor->type != SafetensorsType::kU8) {
    return file.WrongTensor(kOfTarget, "dtype", absl::StrCat("found ", InfoOf(tensor->type).name, ", expected BOOL or U8"));
  }
  std::vector<std::byte> mask(static_cast<size_t>(tensor->size));
  RETURN_IF_ERROR(file.Read(*tensor, 0, absl::MakeSpan(mask)));
  for (size_t token = 0; token < known.size(); ++token) {
    const int found = static_cast<int>(mask[token]), expected = known[token] ? 1 : 0;
    if (found == expected) continue;
    return file.WrongTensor(kOfTarget, absl::StrCat("value ", token),
                            absl::StrCat("found ", found, ", expected ", expected, ", as d2t has it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TokenId>> ReadEagleTokens(const SafetensorsFile& file, int vocabulary, int target_vocabulary) {
  std::vector<int64_t> offsets(static_cast<size_t>(vocabulary), 0);
  if (file.FindTensor(kToTarget) != nullptr || vocabulary != target_vocabulary) {
    ASSIGN_OR_RETURN(offsets, ReadOffsets(file, vocabulary));
  }
  std::vector<TokenId> tokens;
  std::vector<bool> known(static_cast<size_t>(target_vocabulary), false);
  for (int entry = 0; entry < vocabulary; ++entry) {
    const int64_t offset = offsets[static_cast<size_t>(entry)];
    const auto wrong = [&](absl::string_view what) {
      return file.WrongTensor(kToTarget, absl::StrCat("value ", entry), absl::StrCat("found ", offset, ", expected ", what));
    };
    if (offset < -entry || offset >= target_vocabulary - entry) {
      return wrong(absl::StrCat(-entry, " to ", target_vocabulary - 1 - entry, ": a token of the model"));
    }
    const int64_t token = entry + offset;
    if (known[static_cast<size_t>(token)]) return wrong(absl::StrCat("another token than ", token, ", which an earlier one is"));
    known[static_cast<size_t>(token)] = true;
    tokens.push_back(static_cast<TokenId>(token));
  }
  RETURN_IF_ERROR(CheckMask(file, known));
  return tokens;
}

absl::StatusOr<std::unique_ptr<EagleWeights>> EagleWeights::Read(const SafetensorsFile& file, const ModelConfig& target,
                                                                 EagleShape* shape) {
  ASSIGN_OR_RETURN(const int64_t fused, CheckedMul(static_cast<int64_t>(shape->layers.size()), shape->width));
  const std::array<Matrix, 8> matrices = MatricesOf(*shape, fused);
  RETURN_IF_ERROR(CheckNames(file, matrices));
  ASSIGN_OR_RETURN(shape->vocabulary, VocabularyOf(file, *shape, target.vocabulary));
  auto weights = std::make_unique<EagleWeights>();
  for (const Matrix& matrix : matrices) {
    ASSIGN_OR_RETURN((*weights).*matrix.matrix, ReadFileMatrix(file, matrix.name, matrix.rows, matrix.columns));
  }
  for (const Vector& vector : kVectors) {
    ASSIGN_OR_RETURN((*weights).*vector.numbers, ReadFileVector(file, vector.name, shape->width));
  }
  ASSIGN_OR_RETURN(weights->head, ReadFileMatrix(file, kHead, shape->vocabulary, shape->width));
  if (file.FindTensor(kEmbeddings) == nullptr) return weights;
  ASSIGN_OR_RETURN(weights->embeddings, ReadFileMatrix(file, kEmbeddings, target.vocabulary, shape->width));
  return weights;
}

int64_t EagleWeights::bytes() const {
  int64_t bytes = 0;
  for (const FileMatrix* matrix : {&fuse, &query, &key, &value, &output, &gate, &up, &down, &head, &embeddings}) {
    bytes += matrix->buffer.size();
  }
  for (const std::vector<float>* numbers : {&input_norm, &hidden_norm, &post_norm, &norm}) {
    bytes += static_cast<int64_t>(numbers->size() * sizeof(float));
  }
  return bytes;
}

}  // namespace tessera
