// A reward head: says of the hidden state at a token how likely the text up to there is right.
//
//   ASSIGN_OR_RETURN(const RewardHead head, RewardHead::Open("reward.safetensors", model_file, config, layout, source));
//   RETURN_IF_ERROR(pass.RunTo(head.layer()));
//   ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
//   head.Score(hidden.row(0));                                          // 0.83, from 0 to 1: of the text up to the row's token
//
// The file, safetensors or GGUF, holds the head alone, in F32, F16 or BF16, in one of three layouts:
//
//   kValueHead    v_head.summary.weight [1, width], v_head.summary.bias [1]: public process reward models (Skywork-o1-Open-PRM), by TRL's
//                 value head
//   kClassifier   score.weight [1, width], no bias: sequence classification with one label
//   kOwn          reward.out.weight [1, width], reward.out.bias [1]; or, with a hidden layer of N, reward.hidden.weight [N, width],
//                 reward.hidden.bias [N], reward.out.weight [1, N], and the text "activation": "relu": scripts/train/reward.py
//
// In all of them the state is the one that the model's head reads, so the model's output norm is applied first: that is what
// hidden_states[-1] and last_hidden_state are in the public models' code. The score is the sigmoid of the head's number in all of them:
// between 0 and 1, in the number's order (numbers above 36 round to 1). A text "layer" names a layer below the last one, whose state goes
// through the same norm; "layers" must be the model's, and so must "tessera.model.vectors", its mark (model/files/marked_model.h).
//
// Other tensors are refused by name. So is a file with a whole fine-tuned model in it: which weights run is said by --model, and a head
// belongs to the weights that it was trained with, so it has to be taken out of such a file on purpose. The file is hostile until checked.
// Errors are InvalidArgument with file, tensor or text, found and expected; those of SafetensorsFile, GgufFile and the source.
// A score depends on the state alone, to the bit. Thread-safe: constant once made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/marked_model.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class OutputNorm;
class TensorFile;

class RewardHead {  // Move-only.
 public:
  enum class Layout : uint8_t { kValueHead, kClassifier, kOwn };
  static constexpr int64_t kMostHidden = 8192;

  // For the model of which these are file, configuration, layout and weights, whose output norm is copied.
  static absl::StatusOr<RewardHead> Open(const std::string& path, const MarkedModel& model, const ModelConfig& config,
                                         const WeightLayout& layout, WeightSource& source);
  // Without a norm, for states that come after it, and without a look at the model's mark.
  static absl::StatusOr<RewardHead> Read(const SafetensorsFile& file, const ModelConfig& config);
  RewardHead(RewardHead&& other) noexcept;
  ~RewardHead();

  Layout layout() const { return layout_; }
  int layer() const { return layer_; }    // States are those after so many layers: 1 to the model's.
  int64_t width() const { return width_; }
  int64_t hidden() const { return static_cast<int64_t>(hidden_bias_.size()); }   // Units of its hidden layer; 0: none.
  int64_t bytes() const;
  // InvalidArgument (what, found, expected) unless it was made for a model of this shape.
  absl::Status CheckFits(const ModelConfig& config) const;

  // state: [width], after layer() layers. NaN where the state has one.
  double Score(const float* state) const;
  // The number that the score is the sigmoid of.
  double Logit(const float* state) const;

 private:
  explicit RewardHead(const ModelConfig& config);
  static absl::StatusOr<RewardHead> ReadTensors(const TensorFile& file, const ModelConfig& config);
  absl::Status ReadTexts(const TensorFile& file);
  absl::Status ReadOwn(const TensorFile& file);

  Layout layout_ = Layout::kOwn;
  int layer_, layers_;
  int64_t width_;
  std::vector<float> hidden_weight_, hidden_bias_;   // [hidden, width] and [hidden]; empty: none.
  std::vector<float> out_weight_;                    // [width] or [hidden].
  float out_bias_ = 0;
  std::unique_ptr<const OutputNorm> norm_;           // Null: states come after it.
};

// "value head", "classifier", "own".
absl::string_view RewardLayoutName(RewardHead::Layout layout);

}  // namespace tessera
