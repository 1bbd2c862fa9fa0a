#include "tessera/model/reward_head.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/output_norm.h"
#include "tessera/model/internal/tensor_file.h"

namespace tessera {
namespace {

constexpr char kValueWeight[] = "v_head.summary.weight", kValueBias[] = "v_head.summary.bias";
constexpr char kClassifierWeight[] = "score.weight";
constexpr char kHiddenWeight[] = "reward.hidden.weight", kHiddenBias[] = "reward.hidden.bias";
constexpr char kMark[] = "tessera.model.vectors";
constexpr char kOutWeight[] = "reward.out.weight", kOutBias[] = "reward.out.bias";

using Layout = RewardHead::Layout;

absl::StatusOr<Layout> LayoutOf(const TensorFile& file) {
  if (file.Has(kValueWeight)) return Layout::kValueHead;
  if (file.Has(kClassifierWeight)) return Layout::kClassifier;
  if (file.Has(kOutWeight)) return Layout::kOwn;
  const std::vector<std::string> names = file.names();
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": found ", names.size(), " tensors",
                                                 names.empty() ? "" : absl::StrCat(", ", names[0], " first"), ", expected ", kValueWeight,
                                                 ", ", kClassifierWeight, " or ", kOutWeight, ", a reward head"));
}

std::vector<std::string> NamesOf(Layout layout, bool has_hidden) {
  if (layout == Layout::kValueHead) return {kValueWeight, kValueBias};
  if (layout == Layout::kClassifier) return {kClassifierWeight};
  if (!has_hidden) return {kOutWeight, kOutBias};
  return {kHiddenWeight, kHiddenBias, kOutWeight, kOutBias};
}

absl::Status CheckAlone(const TensorFile& file, Layout layout) {
  const std::vector<std::string> known = NamesOf(layout, file.Has(kHiddenWeight) || file.Has(kHiddenBias));
  for (const std::string& name : file.names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return file.WrongTensor(name, "", absl::StrCat("found it, expected ", absl::StrJoin(known, ", "), " alone: a head without its model"));
  }
  return absl::OkStatus();
}

absl::Status CheckMark(const TensorFile& file, const MarkedModel& model) {
  ASSIGN_OR_RETURN(const std::optional<std::string> found, file.Text(kMark));
  if (!found.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint32_t mark, model.Vectors());
  if (*found == absl::StrCat(mark)) return absl::OkStatus();
  return file.WrongText(kMark, found, absl::StrCat("\"", mark, "\", the mark of ", model.path()));
}

absl::Status ReadLayer(const TensorFile& file, absl::string_view key, int least, int most, int& number) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, file.Text(key));
  if (!text.has_value()) return absl::OkStatus();
  int found = 0;
  if (!absl::SimpleAtoi(*text, &found) || found < least || found > most) {
    return file.WrongText(key, text, least == most ? absl::StrCat("\"", least, "\"") : absl::StrCat("\"", least, "\" to \"", most, "\""));
  }
  number = found;
  return absl::OkStatus();
}

// Sums in the order of the numbers, on every machine.
double Sum(const float* weights, const float* values, int64_t count, float bias) {
  double sum = bias;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(weights[i]) * static_cast<double>(values[i]);
  return sum;
}

}  // namespace

absl::string_view RewardLayoutName(RewardHead::Layout layout) {
  switch (layout) {
    case Layout::kValueHead: return "value head";
    case Layout::kClassifier: return "classifier";
    case Layout::kOwn: return "own";
  }
  return "";
}

RewardHead::RewardHead(const ModelConfig& config)
    : layer_(static_cast<int>(config.layers.size())), layers_(layer_), width_(config.width) {}
RewardHead::RewardHead(RewardHead&& other) noexcept = default;
RewardHead::~RewardHead() = default;

absl::StatusOr<RewardHead> RewardHead::Open(const std::string& path, const MarkedModel& model, const ModelConfig& config,
                                            const WeightLayout& layout, WeightSource& source) {
  ASSIGN_OR_RETURN(const TensorFile file, TensorFile::Open(path));
  RETURN_IF_ERROR(CheckMark(file, model));
  ASSIGN_OR_RETURN(RewardHead head, ReadTensors(file, config));
  RETURN_IF_ERROR(file.CheckUnchanged());
  ASSIGN_OR_RETURN(OutputNorm norm, OutputNorm::Read(config, layout, source));
  head.norm_ = std::make_unique<const OutputNorm>(std::move(norm));
  return head;
}

absl::StatusOr<RewardHead> RewardHead::Read(const SafetensorsFile& file, const ModelConfig& config) {
  return ReadTensors(TensorFile(file), config);
}

absl::StatusOr<RewardHead> RewardHead::ReadTensors(const TensorFile& file, const ModelConfig& config) {
  RewardHead head(config);
  ASSIGN_OR_RETURN(head.layout_, LayoutOf(file));
  RETURN_IF_ERROR(CheckAlone(file, head.layout_));
  RETURN_IF_ERROR(head.ReadTexts(file));
  switch (head.layout_) {
    case Layout::kValueHead: {
      ASSIGN_OR_RETURN(head.out_weight_, file.Read(kValueWeight, {1, head.width_}));
      ASSIGN_OR_RETURN(const std::vector<float> bias, file.Read(kValueBias, {1}));
      head.out_bias_ = bias[0];
      break;
    }
    case Layout::kClassifier: {
      ASSIGN_OR_RETURN(head.out_weight_, file.Read(kClassifierWeight, {1, head.width_}));
      break;
    }
    case Layout::kOwn: RETURN_IF_ERROR(head.ReadOwn(file));
  }
  return head;
}

absl::Status RewardHead::ReadTexts(const TensorFile& file) {
  int layers = layers_;
  RETURN_IF_ERROR(ReadLayer(file, "layers", layers_, layers_, layers));
  return ReadLayer(file, "layer", 1, layers_, layer_);
}

absl::Status RewardHead::ReadOwn(const TensorFile& file) {
  int64_t inputs = width_;
  if (file.Has(kHiddenWeight) || file.Has(kHiddenBias)) {
    const std::vector<int64_t> shape = file.ShapeOf(kHiddenBias).value_or(std::vector<int64_t>());
    if (shape.size() != 1 || shape[0] < 1 || shape[0] > kMostHidden) {
      return file.WrongTensor(kHiddenBias, "shape", absl::StrCat("found [", absl::StrJoin(shape, ", "), "], expected [1] to [",
                                                                 kMostHidden, "]"));
    }
    ASSIGN_OR_RETURN(const std::optional<std::string> activation, file.Text("activation"));
    if (activation != "relu") return file.WrongText("activation", activation, "\"relu\"");
    ASSIGN_OR_RETURN(hidden_weight_, file.Read(kHiddenWeight, {shape[0], width_}));
    ASSIGN_OR_RETURN(hidden_bias_, file.Read(kHiddenBias, shape));
    inputs = shape[0];
  }
  ASSIGN_OR_RETURN(out_weight_, file.Read(kOutWeight, {1, inputs}));
  ASSIGN_OR_RETURN(const std::vector<float> bias, file.Read(kOutBias, {1}));
  out_bias_ = bias[0];
  return absl::OkStatus();
}

int64_t RewardHead::bytes() const {
  const size_t numbers = hidden_weight_.capacity() + hidden_bias_.capacity() + out_weight_.capacity();
  return static_cast<int64_t>(numbers * sizeof(float)) + (norm_ == nullptr ? 0 : norm_->bytes());
}

absl::Status RewardHead::CheckFits(const ModelConfig& config) const {
  const auto check = [](absl::string_view what, int64_t found, int64_t expected) -> absl::Status {
    if (found == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(what, " of a reward head: found ", found, ", expected ", expected));
  };
  RETURN_IF_ERROR(check("layers", layers_, static_cast<int64_t>(config.layers.size())));
  return check("width", width_, config.width);
}

double RewardHead::Logit(const float* state) const {
  std::vector<float> inputs(state, state + width_);
  if (norm_ != nullptr) norm_->Apply(inputs.data());
  if (!hidden_bias_.empty()) {
    std::vector<float> hidden(hidden_bias_.size());
    for (size_t unit = 0; unit < hidden.size(); ++unit) {
      const double sum = Sum(&hidden_weight_[unit * inputs.size()], inputs.data(), width_, hidden_bias_[unit]);
      hidden[unit] = static_cast<float>(sum < 0 ? 0 : sum);   // NaN stays.
    }
    inputs = std::move(hidden);
  }
  return Sum(out_weight_.data(), inputs.data(), static_cast<int64_t>(inputs.size()), out_bias_);
}

double RewardHead::Score(const float* state) const { return 1 / (1 + elementary::Exp(-Logit(state))); }

}  // namespace tessera
