// Predicts, from a row's hidden state between two layers, which tokens the whole model will like. The scores prune a draft
// (spec/policies/prune_rule.h).
//
//   ASSIGN_OR_RETURN(const ExitPredictor predictor, ExitPredictor::Load("exit.safetensors", config, layout, source));
//   RETURN_IF_ERROR(pass.RunTo(predictor.layer()));
//   ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
//   RETURN_IF_ERROR(predictor.Score({{hidden.row(0), tokens, absl::MakeSpan(scores)}}, pool));
//
// scripts/train/exit_predictor.py writes the file. The file's texts name the layer and the kind of map:
//
//   "vocabulary"  predictor.weight [vocabulary, width]   score of a token = row of the token in W x state (Lever, section 4.3)
//   "width"       predictor.map [width, width]           score of a token = row of the token in the model's head x norm(W x state), by the
//                                                        model's output norm
//
// W is the tensor, in F32, F16 or BF16; memory keeps this format. Score reads only the rows of the asked tokens, from W or from the head.
// Scores depend on the state and the token alone. No generated text depends on scores. Errors: InvalidArgument with file, field, found and
// expected. Threads: several threads may call Score at once with different pools. With kind "width", only the thread that may acquire from
// the source may call Score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/model/files/weights.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class HeadRows;

class ExitPredictor {  // Move-only.
 public:
  enum class Kind { kVocabulary, kWidth };

  // Loads a predictor for the model with this configuration, layout and weights. The layout and the source must outlive a predictor of kind
  // "width". Also returns the errors of the source and of opening a file.
  static absl::StatusOr<ExitPredictor> Load(const std::string& path, const ModelConfig& config, const WeightLayout& layout,
                                            WeightSource& source);
  static absl::StatusOr<ExitPredictor> Read(const SafetensorsFile& file, const ModelConfig& config, const WeightLayout& layout,
                                            WeightSource& source);
  ExitPredictor(ExitPredictor&& other) noexcept;
  ~ExitPredictor();

  int layer() const { return layer_; }   // States are taken after this number of layers: 1 to below the model's.
  Kind kind() const { return kind_; }
  int64_t bytes() const;                 // Memory, without the model's memory.
  // Returns InvalidArgument (field, found, expected) unless the predictor was made for a model of this shape and, if kWidth, for this
  // source.
  absl::Status CheckFits(const ModelConfig& config, const WeightSource& source) const;

  struct Question {
    const float* state = nullptr;               // [width], after layer() layers.
    absl::Span<const TokenId> tokens = {};      // Any, in any order.
    absl::Span<float> scores = {};              // [tokens], written by Score: comparable within a question, as logits are.
  };
  // Writes the scores of all questions. Returns InvalidArgument (found, expected) for a token outside the vocabulary; the errors of the
  // source. REQUIRES: as many scores as tokens; no parts of the source's weights are leased.
  absl::Status Score(absl::Span<const Question> questions, ThreadPool& pool) const;

 private:
  ExitPredictor(const ModelConfig& config, Kind kind, int layer);
  absl::Status KeepRows(const SafetensorsFile& file);
  absl::Status KeepMap(const SafetensorsFile& file);
  void ScoreByRows(absl::Span<const Question> questions) const;
  absl::Status ScoreByHead(absl::Span<const Question> questions, ThreadPool& pool) const;
  // Returns each question's state after map and norm: [questions, width].
  absl::StatusOr<std::vector<float>> MapStates(absl::Span<const Question> questions, ThreadPool& pool) const;

  Kind kind_;
  int layer_;
  int layers_, vocabulary_;       // The model's.
  int64_t width_;
  float cap_;                     // The cap of the model's logits; 0: none.
  BlockFormat format_ = BlockFormat::kF32;
  std::vector<std::byte> rows_;   // kVocabulary: W, row by row.
  AlignedBuffer packed_;          // kWidth: the memory behind map_.
  std::optional<PackedMatrix> map_;
  std::unique_ptr<const HeadRows> head_;
};

}  // namespace tessera
