#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/model/files/internal/model_families.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

#define TESSERA_ADDRESS_OF(constant) &constant,
const Architecture* const kArchitectures[] = {TESSERA_ARCHITECTURES(TESSERA_ADDRESS_OF)};
#undef TESSERA_ADDRESS_OF

constexpr double kScaleTolerance = 1e-5;  // The precision of a factor written with six digits.

// Checks the factor of scores: a file may name only the factor that the architecture computes. 0 means this factor.
absl::Status CheckAttentionScale(const GgufFile& file, const ModelConfig& config) {
  const std::string key = absl::StrCat(config.architecture, ".attention.scale");
  ASSIGN_OR_RETURN(const double found, file.FloatOr(key, 0));
  if (found == 0 || std::abs(found / config.attention_scale - 1) <= kScaleTolerance) return absl::OkStatus();
  return file.WrongValue(key, absl::StrCat("found ", found, ", expected ", config.attention_scale, ", which ", config.architecture,
                                           " computes"));
}

// Tensors that converters have written into files of any architecture.
constexpr HarmlessTensors kHarmlessForAll[] = {
    {"blk.", ".attn_rot_embd", "inverse frequencies of RoPE, which are computed from the file's keys"},
    {"blk.", ".attn_rot_embd.weight", "inverse frequencies of RoPE, which are computed from the file's keys"},
    {"", ".rotary_emb.inv_freq", "inverse frequencies of RoPE, which are computed from the file's keys"},
    {"", ".position_ids", "the numbers of positions, counted from 0"},
    {"", ".masked_bias", "the number that hides later positions"},
};

// Returns the reason in the first matching row; empty if no row matches.
absl::string_view ReasonIn(absl::Span<const HarmlessTensors> rows, absl::string_view tensor) {
  const auto fits = [&](const HarmlessTensors& row) { return absl::StartsWith(tensor, row.begin) && absl::EndsWith(tensor, row.end); };
  const auto row = std::find_if(rows.begin(), rows.end(), fits);
  return row == rows.end() ? absl::string_view() : row->reason;
}

void FindBiases(const GgufFile& file, const OptionalBiases& may_have, ModelConfig& config) {
  for (size_t layer = 0; layer < config.layers.size(); ++layer) {
    for (const LayerBias& bias : kLayerBiases) {
      const std::string name = absl::StrCat("blk.", layer, ".", bias.label);
      config.layers[layer].biases.*bias.flag = may_have.layer.*bias.flag && file.FindTensor(name) != nullptr;
    }
  }
  config.head_bias = may_have.head && file.FindTensor(HeadBiasNeed(config).name) != nullptr;
}

}  // namespace

absl::Span<const Architecture* const> Architectures() { return kArchitectures; }

absl::string_view WhyHarmless(absl::string_view architecture, absl::string_view tensor) {
  const absl::string_view reason = ReasonIn(kHarmlessForAll, tensor);
  if (!reason.empty()) return reason;
  const absl::StatusOr<const Architecture*> found = FindArchitecture(architecture);
  return found.ok() ? ReasonIn((*found)->harmless, tensor) : absl::string_view();
}

bool HarmlessForSome(absl::string_view tensor) {
  return std::any_of(std::begin(kArchitectures), std::end(kArchitectures),
                     [&](const Architecture* architecture) { return !WhyHarmless(architecture->name, tensor).empty(); });
}

absl::StatusOr<const Architecture*> FindArchitecture(absl::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    if (name == architecture->name) return architecture;
  }
  const auto append_name = [](std::string* out, const Architecture* a) { absl::StrAppend(out, a->name); };
  const ModelFamily* const family = FindMissingFamily(name);
  return absl::NotFoundError(absl::StrCat("found ", Quoted(name), family == nullptr ? "" : absl::StrCat(" (", family->name, ")"),
                                          ", expected one of ", absl::StrJoin(kArchitectures, ", ", append_name),
                                          family == nullptr ? "" : absl::StrCat("; not supported here: ", family->missing)));
}

absl::StatusOr<ModelConfig> ReadModelConfig(const GgufFile& file) {
  RETURN_IF_ERROR(JudgeGeneralKeys(file));
  ASSIGN_OR_RETURN(const absl::string_view name, file.String("general.architecture"));
  const absl::StatusOr<const Architecture*> architecture = FindArchitecture(name);
  if (!architecture.ok()) return file.WrongValue("general.architecture", architecture.status().message());
  RETURN_IF_ERROR(JudgeKeys(file, absl::StrCat(name, "."), {(*architecture)->keys, DecoderKeys()}));
  ASSIGN_OR_RETURN(ModelConfig config, (*architecture)->configure(file));
  FindBiases(file, (*architecture)->biases, config);
  RETURN_IF_ERROR(CheckAttentionScale(file, config));
  return config;
}

}  // namespace tessera
