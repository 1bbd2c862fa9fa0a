// A reward head: predicts from a token's hidden state how likely the text up to the token is right.
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
// All layouts read the state that the model's head reads, behind the model's output norm. The public models' code names this state
// hidden_states[-1] and last_hidden_state. All layouts return the sigmoid of the head's number: between 0 and 1, in the number's order
// (numbers above 36 round to 1). A text "layer" names a layer below the last one, whose state goes through the same norm. "layers" must be
// the model's number, and "tessera.model.vectors" must be the model's mark (model/files/marked_model.h).
//
// Other tensors are refused by name. A file with a whole fine-tuned model in it is refused, too: --model says which weights run, and a head
// belongs to the weights that it was trained with. Take the head out of such a file on purpose. The file is hostile until checked.
//
// Errors: InvalidArgument with file, tensor or text, found and expected; the errors of SafetensorsFile, GgufFile and the source.
//
// A score depends on the state alone, to the bit. Threads: thread-safe, constant once made.
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

  // Opens a head for the model with this file, configuration, layout and weights. Copies the model's output norm.
  static absl::StatusOr<RewardHead> Open(const std::string& path, const MarkedModel& model, const ModelConfig& config,
                                         const WeightLayout& layout, WeightSource& source);
  // Reads a head without a norm, for states behind the norm, and without a check of the model's mark.
  static absl::StatusOr<RewardHead> Read(const SafetensorsFile& file, const ModelConfig& config);
  RewardHead(RewardHead&& other) noexcept;
  ~RewardHead();

  Layout layout() const { return layout_; }
  int layer() const { return layer_; }    // States are taken after this number of layers: 1 to the model's.
  int64_t width() const { return width_; }
  int64_t hidden() const { return static_cast<int64_t>(hidden_bias_.size()); }   // Units of the head's hidden layer; 0: none.
  int64_t bytes() const;
  // Returns InvalidArgument (field, found, expected) unless the head was made for a model of this shape.
  absl::Status CheckFits(const ModelConfig& config) const;

  // Returns the score of a state. state: [width], after layer() layers. NaN if the state has a NaN.
  double Score(const float* state) const;
  // Returns the number in front of the sigmoid.
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
  std::unique_ptr<const OutputNorm> norm_;           // Null: states come from behind the norm.
};

// Returns "value head", "classifier" or "own".
absl::string_view RewardLayoutName(RewardHead::Layout layout);

}  // namespace tessera
