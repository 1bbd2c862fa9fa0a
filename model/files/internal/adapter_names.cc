#include "tessera/model/files/internal/adapter_names.h"

#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr char kBase[] = "base_model.model.", kAdapterName[] = ".default";

// Prefixes of decoders' layers: alone, in a model that also sees pictures (in two versions of transformers), or without a head.
constexpr const char* kTrunks[] = {"model.layers.", "language_model.model.layers.", "model.language_model.layers.", "layers."};

// Returns the kind of a tensor that is no A or B of a layer's linear module; null: unknown.
const char* OtherPart(absl::string_view name) {
  constexpr std::pair<const char*, const char*> kParts[] = {
      {"lora_magnitude_vector", "a norm of DoRA, expected A and B of LoRA alone"},
      {"lora_embedding_", "an adapter of an embedding, expected those of linear layers alone"},
      {"embed_tokens", "an adapter of the embedding, expected those of linear layers alone"},
      {"lm_head", "an adapter of the head, expected those of layers alone"},
      {"modules_to_save", "a module saved whole, expected A and B alone"},
      {"lora_diag", "numbers of KaSA, expected A and B of LoRA alone"},
      {".experts", "an adapter of experts, expected those of linear layers alone"},
      {".switch_mlp", "an adapter of experts, expected those of linear layers alone"},
      {"vision_", "an adapter of what sees pictures, expected those of the text's layers alone"},
      {"visual.", "an adapter of what sees pictures, expected those of the text's layers alone"},
  };
  for (const auto& [part, what] : kParts) {
    if (absl::StrContains(name, part)) return what;
  }
  if (absl::EndsWith(name, ".bias")) return "a bias, expected A and B alone";
  return absl::EndsWith(name, ".m") ? "a norm of DoRA, expected A and B of LoRA alone" : nullptr;
}

std::string Problem(absl::string_view name, const FolderForm& form) {
  if (const char* const other = OtherPart(name); other != nullptr) return absl::StrCat("found ", other);
  return absl::StrCat("found this name, expected ", form.shown, ", MODULE one of ",
                      absl::StrJoin(kAdapterTargets, ", ", [](std::string* out, const AdapterTarget& one) { out->append(one.peft); }));
}

// Removes the half's name from the end of `name`; false: `name` has none.
bool TakeHalf(const FolderForm& form, absl::string_view* name, bool* is_b) {
  absl::ConsumeSuffix(name, form.ending);
  absl::ConsumeSuffix(name, kAdapterName);
  *is_b = absl::ConsumeSuffix(name, form.half_b);
  return *is_b || absl::ConsumeSuffix(name, form.half_a);
}

// Returns "3.self_attn.q_proj" of a module's name; empty: the module is in no layer.
absl::string_view InLayers(absl::string_view module) {
  for (const char* const trunk : kTrunks) {
    if (absl::ConsumePrefix(&module, trunk)) return module;
  }
  return "";
}

}  // namespace

absl::StatusOr<AdapterHalf> NamedHalf(const SafetensorsFile& file, const SafetensorsTensor& tensor, const FolderForm& form) {
  absl::string_view module = tensor.name;
  AdapterHalf half = {.layer = -1, .matrix = -1, .tensor = tensor.name};
  const bool is_half = TakeHalf(form, &module, &half.is_b);
  absl::ConsumePrefix(&module, kBase);
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(InLayers(module), absl::MaxSplits('.', 1));
  half.layer = LayerNumber(parts.first);
  for (int i = 0; i < static_cast<int>(std::size(kAdapterTargets)); ++i) {
    if (parts.second == kAdapterTargets[i].peft) half.matrix = i;
  }
  if (!is_half || half.layer < 0 || half.matrix < 0) return file.WrongTensor(tensor.name, "", Problem(tensor.name, form));
  half.module = std::string(module);
  if (tensor.shape.size() != 2) {
    return file.WrongTensor(tensor.name, "shape", absl::StrCat("found ", tensor.shape.size(), " dimensions, expected 2"));
  }
  half.rows = tensor.shape[form.transposed ? 1 : 0], half.columns = tensor.shape[form.transposed ? 0 : 1];
  RETURN_IF_ERROR(file.FormatOf(tensor).status());
  return half;
}

std::string ModuleBeside(const AdapterHalf& half, int layer, int matrix) {
  const absl::string_view module = half.module;
  const size_t trunk = module.size() - InLayers(module).size();
  return absl::StrCat(module.substr(0, trunk), layer, ".", kAdapterTargets[matrix].peft);
}

}  // namespace tessera
