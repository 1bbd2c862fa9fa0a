#include "tessera/model/files/internal/tensor_check.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

// Returns the layers that the file claims: block_count.
uint64_t LayersOfFile(const ModelConfig& config) { return config.layers.size() + static_cast<uint64_t>(config.left_out); }

bool IsOfLayer(absl::string_view tensor, uint64_t* layer) {
  return absl::ConsumePrefix(&tensor, "blk.") && absl::SimpleAtoi(tensor.substr(0, tensor.find('.')), layer);
}

// Returns true for a tensor of a layer behind the last layer of block_count.
bool IsOfLaterLayer(absl::string_view tensor, const ModelConfig& config) {
  uint64_t layer = 0;
  return IsOfLayer(tensor, &layer) && layer >= LayersOfFile(config);
}

// Returns true for a tensor of a left-out layer. The kind of such a tensor makes no difference.
bool IsLeftOut(absl::string_view tensor, const ModelConfig& config) {
  uint64_t layer = 0;
  return IsOfLayer(tensor, &layer) && layer >= config.layers.size() && layer < LayersOfFile(config);
}

absl::Status Unused(const std::string& path, absl::string_view tensor, const ModelConfig& config) {
  const std::string place = absl::StrCat(path, ": tensor ", Quoted(tensor), ": ");
  if (IsOfLaterLayer(tensor, config)) {
    return absl::InvalidArgumentError(absl::StrCat(place, "found a tensor of a later layer, expected none beyond layer ",
                                                   LayersOfFile(config) - 1, ": ", config.architecture, ".block_count is ",
                                                   LayersOfFile(config), "; convert the model again, so that the key counts all layers"));
  }
  const absl::string_view part = PartShownBy(tensor);
  const std::string shown = part.empty() ? "" : absl::StrCat(" (not supported here: ", part, ")");
  return absl::InvalidArgumentError(absl::StrCat(place, "found a tensor that no part of a ", config.architecture, " model reads", shown,
                                                 ", expected none, since the model would write other texts without it; convert the "
                                                 "original model again, or run the file with a program that reads it"));
}

// Records the reason why the tensor changes no text. False: the tensor might.
bool IsHarmless(absl::string_view tensor, const ModelConfig& config, TensorCheck& check) {
  const std::string reason(WhyHarmless(config.architecture, tensor));
  if (!reason.empty() && !absl::c_linear_search(check.reasons, reason)) check.reasons.push_back(reason);
  return !reason.empty();
}

}  // namespace

TensorCheck CheckTensors(const GgufFile& file, const ModelConfig& config) {
  TensorCheck check;
  const std::vector<TensorNeed> needs = AllNeeds(config);
  absl::flat_hash_set<absl::string_view> asked_for = {kRopeFactors};
  for (const TensorNeed& need : needs) asked_for.insert(need.name);
  for (const GgufTensor& tensor : file.tensors()) {
    check.used.push_back(asked_for.contains(tensor.name));
    if (check.used.back() || IsLeftOut(tensor.name, config) || IsHarmless(tensor.name, config, check)) continue;
    check.problems.push_back({std::string(tensor.name), Unused(file.PathOf(tensor), tensor.name, config)});
  }
  for (const GgufUnreadTensor& tensor : file.unread_tensors()) {
    if (IsLeftOut(tensor.name, config) || IsHarmless(tensor.name, config, check)) continue;
    check.problems.push_back({std::string(tensor.name), tensor.problem});
  }
  for (const TensorNeed& need : needs) {
    const absl::Status found = FindNeeded(file, need).status();
    if (!found.ok()) check.problems.push_back({need.name, found});
  }
  return check;
}

}  // namespace tessera
