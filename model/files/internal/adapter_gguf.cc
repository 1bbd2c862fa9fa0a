// Adapters in GGUF files: general.type "adapter", adapter.type "lora", and for each matrix NAME.lora_a and NAME.lora_b.
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/adapter_plan.h"
#include "tessera/model/files/internal/check_finite.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr char kAlpha[] = "adapter.lora.alpha", kPrefix[] = "adapter.lora.prompt_prefix", kTask[] = "adapter.lora.task_name";

absl::Status CheckText(const GgufFile& file, absl::string_view key, absl::string_view expected) {
  const absl::StatusOr<absl::string_view> found = file.String(key);
  if (absl::IsNotFound(found.status())) {
    return file.WrongValue(key, absl::StrCat("found no such key, expected ", Quoted(expected), ", as an adapter has it"));
  }
  RETURN_IF_ERROR(found.status());
  return *found == expected ? absl::OkStatus() : file.Unexpected(key, Quoted(expected));
}

// Checks the keys. Keys that describe the file change nothing; any other key might.
absl::Status CheckKeys(const GgufFile& file, const ModelConfig& config) {
  RETURN_IF_ERROR(CheckText(file, "general.type", "adapter"));
  RETURN_IF_ERROR(CheckText(file, "adapter.type", "lora"));
  RETURN_IF_ERROR(CheckText(file, "general.architecture", config.architecture));
  for (const auto& [key, value] : file.metadata()) {
    const bool known = absl::StartsWith(key, "general.") || absl::StartsWith(key, "split.") || key == "adapter.type" || key == kAlpha ||
                       key == kTask || key == kAdapterModelMark;
    if (known) continue;
    if (key == kPrefix) {
      ASSIGN_OR_RETURN(const absl::string_view prefix, file.String(key));
      if (prefix.empty()) continue;
      return file.Unexpected(key, "none: prompts are taken as they are");
    }
    return file.Unexpected(key, "no such key: what it means for an adapter is not known");
  }
  for (const GgufUnreadTensor& tensor : file.unread_tensors()) return tensor.problem;
  return absl::OkStatus();
}

// Returns 0 if the file has no alpha.
absl::StatusOr<double> ReadAlpha(const GgufFile& file) {
  if (file.Find(kAlpha) == nullptr) return 0.0;
  ASSIGN_OR_RETURN(const double alpha, file.Float(kAlpha));
  return std::isfinite(alpha) ? absl::StatusOr<double>(alpha) : file.Unexpected(kAlpha, "a finite number");
}

// Returns the scale by the rule of the program that makes these files: without alpha, or with an alpha of 0, the scale is 1 for any rank.
double ScaleOf(double alpha, const AdapterPlan::Place& place) { return alpha == 0 ? 1 : alpha / static_cast<double>(place.a.rows); }

constexpr char kForm[] = "blk.N.MATRIX.weight.lora_a or .lora_b, MATRIX one of attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up and "
                         "ffn_down";

// Splits "blk.3.attn_q.weight.lora_a".
absl::StatusOr<AdapterHalf> HalfOf(const GgufTensor& tensor, const AdapterPlan& plan) {
  const absl::Status wrong = plan.WrongTensor(tensor.name, absl::StrCat("found this name, expected ", kForm));
  const std::vector<absl::string_view> words = absl::StrSplit(tensor.name, '.');
  if (words.size() != 5 || words[0] != "blk" || words[3] != "weight") return wrong;
  const std::array<int64_t, 4> shape = PaddedShape(tensor);
  AdapterHalf half = {.layer = LayerNumber(words[1]), .matrix = -1, .is_b = words[4] == "lora_b", .tensor = std::string(tensor.name),
                      .rows = shape[1], .columns = shape[0]};
  for (int i = 0; i < static_cast<int>(std::size(kAdapterTargets)); ++i) {
    if (words[2] == kAdapterTargets[i].gguf) half.matrix = i;
  }
  if (half.layer < 0 || half.matrix < 0 || (!half.is_b && words[4] != "lora_a")) return wrong;
  if (shape[2] == 1 && shape[3] == 1) return half;
  return plan.WrongTensor(tensor.name, absl::StrCat("found ", tensor.shape.size(), " dimensions, expected 2"));
}

bool IsPlain(const GgufTensor& tensor) { return tensor.format->values_per_block == 1; }

AdapterMatrix ShapeOf(const GgufFile& file, const AdapterHalf& half) {
  const GgufTensor& tensor = file.tensors()[half.source];
  return {.format = IsPlain(tensor) ? tensor.format->format : BlockFormat::kF32, .rows = half.rows, .columns = half.columns};
}

// Widens a matrix whose bytes are blocks.
void Widen(const GgufTensor& tensor, AdapterMatrix& matrix) {
  std::vector<float> numbers(static_cast<size_t>(matrix.rows * matrix.columns));
  tensor.format->dequantize(matrix.bytes.data(), matrix.rows * matrix.columns, numbers.data());
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
  matrix.bytes.assign(bytes, bytes + numbers.size() * sizeof(float));
}

class GgufReader : public AdapterReader {
 public:
  GgufReader(AdapterFile shapes, std::unique_ptr<GgufFile> file, std::vector<AdapterNumbers::Source> sources)
      : AdapterReader(std::move(shapes)), file_(std::move(file)), sources_(std::move(sources)) {}

  absl::Status ReadPairs(absl::FunctionRef<absl::Status(size_t number, AdapterPair&& pair)> use) const override {
    AdapterNumbers numbers(shapes_, sources_, file_->tensors().size());
    RETURN_IF_ERROR(file_->ReadThrough([&](size_t number, int64_t /*begin*/, absl::Span<const std::byte> bytes) -> absl::Status {
      const GgufTensor& tensor = file_->tensors()[number];
      AdapterMatrix* const matrix = numbers.Take(number, tensor.size, bytes);
      if (matrix == nullptr) return absl::OkStatus();
      RETURN_IF_ERROR(CheckFinite(*file_, tensor, 0, matrix->bytes));
      if (!IsPlain(tensor)) Widen(tensor, *matrix);
      const std::optional<size_t> whole = numbers.WholeBy(number);
      return whole.has_value() ? use(*whole, std::move(numbers.pair(*whole))) : absl::OkStatus();
    }));
    return file_->CheckUnchanged();
  }

 private:
  const std::unique_ptr<GgufFile> file_;
  const std::vector<AdapterNumbers::Source> sources_;   // By pair.
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdapterReader>> OpenGgufAdapter(const std::string& path, const MarkedModel& model,
                                                               const ModelConfig& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::Open(path));
  RETURN_IF_ERROR(CheckKeys(*file, config));
  ASSIGN_OR_RETURN(const double alpha, ReadAlpha(*file));
  if (file->Find(kAdapterModelMark) != nullptr) {
    ASSIGN_OR_RETURN(const uint64_t mark, file->Uint(kAdapterModelMark));
    RETURN_IF_ERROR(CheckAdapterMark(absl::StrCat(path, ": metadata ", Quoted(kAdapterModelMark)), mark, model));
  }
  AdapterPlan plan(path, config);
  for (size_t i = 0; i < file->tensors().size(); ++i) {
    ASSIGN_OR_RETURN(AdapterHalf half, HalfOf(file->tensors()[i], plan));
    half.source = i;
    RETURN_IF_ERROR(plan.Add(std::move(half)));
  }
  RETURN_IF_ERROR(plan.Check());
  AdapterFile adapter = {.path = path};
  std::vector<AdapterNumbers::Source> sources;
  for (const AdapterPlan::Place& place : plan.places()) {
    ASSIGN_OR_RETURN(AdapterPair pair, plan.PairOf(place, ScaleOf(alpha, place)));
    pair.a = ShapeOf(*file, place.a);
    pair.b = ShapeOf(*file, place.b);
    adapter.pairs.push_back(std::move(pair));
    sources.push_back({.a = place.a.source, .b = place.b.source});
  }
  RETURN_IF_ERROR(file->CheckUnchanged());
  return std::make_unique<GgufReader>(std::move(adapter), std::move(file), std::move(sources));
}

}  // namespace tessera
