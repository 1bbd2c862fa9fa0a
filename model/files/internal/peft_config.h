// adapter_config.json of a PEFT folder: the keys that decide what the adapter computes. Others are refused by name, unless they change
// nothing.
//
//   ASSIGN_OR_RETURN(const PeftConfig config, PeftConfig::Parse(text, "pirate/adapter_config.json"));
//   RETURN_IF_ERROR(config.CheckModule("model.layers.3.self_attn.q_proj", /*layer=*/3));
//   const int rank = config.RankOf("model.layers.3.self_attn.q_proj");
//
// Errors are InvalidArgument with file, key, found and expected. Thread-safe (constant data).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"

namespace tessera {

class PeftConfig {
 public:
  // source: the file's path, for messages.
  static absl::StatusOr<PeftConfig> Parse(absl::string_view text, absl::string_view source);

  // Whether the module may be changed by this adapter: target_modules, exclude_modules, layers_to_transform. Where target_modules is one
  // text, a pattern, the tensors alone say which modules it means.
  absl::Status CheckModule(absl::string_view module, int layer) const;
  // Refuses a name of target_modules that is none of the adapter's modules.
  absl::Status CheckTargetsFound(const std::vector<std::string>& modules) const;

  // By rank_pattern and alpha_pattern, else for all modules alike.
  int RankOf(absl::string_view module) const;
  double AlphaOf(absl::string_view module) const;
  bool root() const { return root_; }   // The scale is alpha / sqrt(rank): rsLoRA.

 private:
  PeftConfig() = default;
  absl::Status ReadKinds(const JsonValue& json);
  absl::Status ReadNumbers(const JsonValue& json);
  absl::Status ReadPatterns(const JsonValue& json);
  absl::Status ReadModules(const JsonValue& json);
  absl::Status Wrong(absl::string_view key, absl::string_view problem) const;

  std::string source_;
  int rank_ = 0;
  double alpha_ = 0;
  bool root_ = false;
  bool any_module_ = false;                                   // target_modules is a pattern.
  std::vector<std::string> targets_, excluded_;
  std::vector<int64_t> layers_;                               // Empty: all.
  std::vector<std::pair<std::string, int>> ranks_;            // By name, in the order of the file: the first that fits counts.
  std::vector<std::pair<std::string, double>> alphas_;
};

}  // namespace tessera
