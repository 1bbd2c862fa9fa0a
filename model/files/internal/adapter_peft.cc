// Adapters in PEFT folders: adapter_config.json, and adapter_model.safetensors with
// base_model.model.MODULE.lora_A.weight and lora_B.weight for each module.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/adapter_plan.h"
#include "tessera/model/files/internal/peft_config.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {
namespace {

constexpr int64_t kLongestConfig = int64_t{1} << 20;
constexpr char kPrefix[] = "base_model.model.", kLayers[] = "model.layers.";

std::string ModuleOf(int layer, int matrix) { return absl::StrCat(kLayers, layer, ".", kAdapterTargets[matrix].peft); }

// Why a tensor that is no A or B is refused.
std::string Problem(absl::string_view name) {
  if (absl::StrContains(name, "lora_magnitude_vector")) return "found a norm of DoRA, expected A and B of LoRA alone";
  if (absl::StrContains(name, "lora_embedding_")) return "found an adapter of an embedding, expected those of linear layers alone";
  if (absl::EndsWith(name, ".bias")) return "found a bias, expected A and B alone";
  return absl::StrCat("found this name, expected ", kPrefix, kLayers, "N.MODULE.lora_A.weight or .lora_B.weight, MODULE one of ",
                      absl::StrJoin(kAdapterTargets, ", ", [](std::string* out, const AdapterTarget& one) { out->append(one.peft); }));
}

// "base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight" taken apart.
absl::StatusOr<AdapterHalf> HalfOf(const SafetensorsFile& file, size_t source) {
  const SafetensorsTensor& tensor = file.tensors()[source];
  const absl::Status wrong = file.WrongTensor(tensor.name, "", Problem(tensor.name));
  absl::string_view rest = tensor.name;
  AdapterHalf half = {.layer = -1, .matrix = -1, .is_b = absl::EndsWith(rest, ".lora_B.weight"), .tensor = tensor.name, .source = source};
  if (!absl::ConsumePrefix(&rest, kPrefix) || !absl::ConsumePrefix(&rest, kLayers)) return wrong;
  if (!absl::ConsumeSuffix(&rest, half.is_b ? ".lora_B.weight" : ".lora_A.weight")) return wrong;
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('.', 1));
  half.layer = LayerNumber(parts.first);
  for (int i = 0; i < static_cast<int>(std::size(kAdapterTargets)); ++i) {
    if (parts.second == kAdapterTargets[i].peft) half.matrix = i;
  }
  if (half.layer < 0 || half.matrix < 0) return wrong;
  if (tensor.shape.size() != 2) {
    return file.WrongTensor(tensor.name, "shape", absl::StrCat("found ", tensor.shape.size(), " dimensions, expected 2"));
  }
  half.rows = tensor.shape[0], half.columns = tensor.shape[1];
  RETURN_IF_ERROR(file.FormatOf(tensor).status());
  return half;
}

absl::StatusOr<AdapterMatrix> ShapeOf(const SafetensorsFile& file, const AdapterHalf& half) {
  AdapterMatrix matrix = {.rows = half.rows, .columns = half.columns};
  ASSIGN_OR_RETURN(matrix.format, file.FormatOf(file.tensors()[half.source]));
  return matrix;
}

// How many heads the rows of a matrix's outputs are turned in; 0: they are in the model's order as they come. In files whose RoPE turns
// neighbours, the rows of each head of queries and keys were put in another order than Hugging Face's: first row j of both halves, side by
// side, for each j.
int HeadsToTurn(const ModelConfig& config, int matrix) {
  if (config.rope_pairs != RopePairs::kAdjacent) return 0;
  return matrix == kAdapterQuery ? config.heads : matrix == kAdapterKey ? config.kv_heads : 0;
}

// That order is only known where whole heads turn.
absl::Status CheckTurning(const AdapterPlan& plan, const AdapterPlan::Place& place, const ModelConfig& config) {
  if (HeadsToTurn(config, place.b.matrix) == 0) return absl::OkStatus();
  for (const RopeConfig& rope : config.ropes) {
    if (rope.dimensions == config.head_size) continue;
    return plan.WrongTensor(place.b.tensor, absl::StrCat("found a model of which ", rope.dimensions, " of ", config.head_size,
                                                         " numbers of a head turn, expected all: the order of its rows is not known"));
  }
  return absl::OkStatus();
}

void TurnRows(int heads, AdapterMatrix& matrix) {
  const int64_t head = matrix.rows / heads, half = head / 2;
  const size_t row_bytes = matrix.bytes.size() / static_cast<size_t>(matrix.rows);
  const std::vector<std::byte> before = matrix.bytes;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const int64_t in_head = row % head, from = row - in_head + in_head % 2 * half + in_head / 2;
    std::memcpy(&matrix.bytes[static_cast<size_t>(row) * row_bytes], &before[static_cast<size_t>(from) * row_bytes], row_bytes);
  }
}

absl::Status CheckMark(const SafetensorsFile& file, const MarkedModel& model) {
  const std::string* const text = file.FindMetadata(kAdapterModelMark);
  if (text == nullptr) return absl::OkStatus();
  const std::string place = absl::StrCat(file.path(), ": metadata ", Quoted(kAdapterModelMark));
  uint64_t mark = 0;
  if (absl::SimpleAtoi(*text, &mark)) return CheckAdapterMark(place, mark, model);
  return absl::InvalidArgumentError(absl::StrCat(place, ": found ", Quoted(*text), ", expected a number"));
}

// The folder's numbers, or what it has instead.
absl::StatusOr<std::unique_ptr<SafetensorsFile>> OpenNumbers(const std::string& folder) {
  absl::StatusOr<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::Open(folder + "/adapter_model.safetensors");
  std::error_code unknown;
  const std::string older = folder + "/adapter_model.bin";
  if (!absl::IsNotFound(file.status()) || !std::filesystem::exists(older, unknown)) return file;
  return absl::NotFoundError(absl::StrCat(older, ": found numbers as a Python program, expected adapter_model.safetensors beside the "
                                                 "configuration; save the adapter again with safe_serialization"));
}

class PeftReader : public AdapterReader {
 public:
  // heads: for each pair, those that the rows of its B are turned in.
  PeftReader(AdapterFile shapes, std::unique_ptr<SafetensorsFile> file, std::vector<AdapterNumbers::Source> sources, std::vector<int> heads)
      : AdapterReader(std::move(shapes)), file_(std::move(file)), sources_(std::move(sources)), heads_(std::move(heads)) {}

  absl::Status ReadPairs(absl::FunctionRef<absl::Status(size_t number, AdapterPair&& pair)> use) const override {
    AdapterNumbers numbers(shapes_, sources_, file_->tensors().size());
    RETURN_IF_ERROR(file_->ReadThrough([&](size_t number, int64_t /*begin*/, absl::Span<const std::byte> bytes) -> absl::Status {
      const SafetensorsTensor& tensor = file_->tensors()[number];
      const AdapterMatrix* const matrix = numbers.Take(number, tensor.size, bytes);
      if (matrix == nullptr) return absl::OkStatus();
      RETURN_IF_ERROR(file_->CheckFinite(tensor, matrix->bytes));
      const std::optional<size_t> whole = numbers.WholeBy(number);
      if (!whole.has_value()) return absl::OkStatus();
      AdapterPair& pair = numbers.pair(*whole);
      if (heads_[*whole] > 0) TurnRows(heads_[*whole], pair.b);
      return use(*whole, std::move(pair));
    }));
    return file_->CheckUnchanged();
  }

 private:
  const std::unique_ptr<SafetensorsFile> file_;
  const std::vector<AdapterNumbers::Source> sources_;   // By pair.
  const std::vector<int> heads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdapterReader>> OpenPeftAdapter(const std::string& folder, const MarkedModel& model,
                                                               const ModelConfig& config) {
  const std::string config_path = folder + "/adapter_config.json";
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(config_path, kLongestConfig));
  ASSIGN_OR_RETURN(const PeftConfig peft, PeftConfig::Parse(text, config_path));
  ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> file, OpenNumbers(folder));
  RETURN_IF_ERROR(CheckMark(*file, model));
  AdapterPlan plan(file->path(), config);
  for (size_t i = 0; i < file->tensors().size(); ++i) {
    ASSIGN_OR_RETURN(AdapterHalf half, HalfOf(*file, i));
    RETURN_IF_ERROR(plan.Add(std::move(half)));
  }
  RETURN_IF_ERROR(plan.Check());
  AdapterFile adapter = {.path = folder};
  std::vector<std::string> modules;
  std::vector<AdapterNumbers::Source> sources;
  std::vector<int> heads;
  for (const AdapterPlan::Place& place : plan.places()) {
    const std::string module = modules.emplace_back(ModuleOf(place.a.layer, place.a.matrix));
    RETURN_IF_ERROR(peft.CheckModule(module, place.a.layer));
    if (place.a.rows != peft.RankOf(module)) {
      return plan.WrongTensor(place.a.tensor, absl::StrCat("found ", place.a.rows, " x ", place.a.columns, ", expected ",
                                                           peft.RankOf(module), " rows, the rank in ", config_path));
    }
    RETURN_IF_ERROR(CheckTurning(plan, place, config));
    ASSIGN_OR_RETURN(AdapterPair pair, plan.PairOf(place, peft.AlphaOf(module), peft.root()));
    ASSIGN_OR_RETURN(pair.a, ShapeOf(*file, place.a));
    ASSIGN_OR_RETURN(pair.b, ShapeOf(*file, place.b));
    adapter.pairs.push_back(std::move(pair));
    sources.push_back({.a = place.a.source, .b = place.b.source});
    heads.push_back(HeadsToTurn(config, place.b.matrix));
  }
  RETURN_IF_ERROR(peft.CheckTargetsFound(modules));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return std::make_unique<PeftReader>(std::move(adapter), std::move(file), std::move(sources), std::move(heads));
}

}  // namespace tessera
