// Adapters in folders: adapter_config.json, and a file of safetensors with an A and B for each module, as PEFT and mlx-lm write them.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/adapter_names.h"
#include "tessera/model/files/internal/adapter_plan.h"
#include "tessera/model/files/internal/folder_config.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {
namespace {

constexpr int64_t kLongestConfig = int64_t{1} << 20;

absl::StatusOr<AdapterMatrix> ShapeOf(const SafetensorsFile& file, const AdapterHalf& half) {
  AdapterMatrix matrix = {.rows = half.rows, .columns = half.columns};
  ASSIGN_OR_RETURN(matrix.format, file.FormatOf(file.tensors()[half.source]));
  return matrix;
}

// Returns the number of heads in which the rows of a matrix's outputs are turned; 0: the rows already have the model's order. In files
// whose RoPE turns neighbours, the rows of each head of queries and keys have another order than Hugging Face's: row j of the first half,
// then row j of the second half, for each j.
int HeadsToTurn(const ModelConfig& config, int matrix) {
  if (config.rope_pairs != RopePairs::kAdjacent) return 0;
  return matrix == kAdapterQuery ? config.heads : matrix == kAdapterKey ? config.kv_heads : 0;
}

// Checks that whole heads turn: only then is this order known.
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

// Transposes a matrix whose file stores columns one after another into the order of rows.
void TransposeNumbers(AdapterMatrix& matrix) {
  const std::vector<std::byte> before = matrix.bytes;
  const auto rows = static_cast<size_t>(matrix.rows), columns = static_cast<size_t>(matrix.columns);
  const size_t size = before.size() / (rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      std::memcpy(&matrix.bytes[(row * columns + column) * size], &before[(column * rows + row) * size], size);
    }
  }
}

// Opens the folder's numbers. The error names the file that the folder has instead.
absl::StatusOr<std::unique_ptr<SafetensorsFile>> OpenNumbers(const std::string& folder, const FolderForm& form) {
  absl::StatusOr<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::Open(absl::StrCat(folder, "/", form.file));
  std::error_code unknown;
  const std::string older = absl::StrCat(folder, "/", form.older);
  if (!absl::IsNotFound(file.status()) || !std::filesystem::exists(older, unknown)) return file;
  return absl::NotFoundError(absl::StrCat(older, ": found numbers as Python programs keep them, expected ", form.file,
                                          " beside the configuration; save the adapter again as safetensors"));
}

class FolderReader : public AdapterReader {
 public:
  // The layout of a pair's numbers in the file. heads: heads in which the rows of B are turned.
  struct Order { bool transposed = false; int heads = 0; };

  FolderReader(AdapterFile shapes, std::unique_ptr<SafetensorsFile> file, std::vector<AdapterNumbers::Source> sources,
               std::vector<Order> orders)
      : AdapterReader(std::move(shapes)), file_(std::move(file)), sources_(std::move(sources)), orders_(std::move(orders)) {}

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
      PutInOrder(orders_[*whole], pair);
      return use(*whole, std::move(pair));
    }));
    return file_->CheckUnchanged();
  }

 private:
  static void PutInOrder(const Order& order, AdapterPair& pair) {
    if (order.transposed) {
      TransposeNumbers(pair.a);
      TransposeNumbers(pair.b);
    }
    if (order.heads > 0) TurnRows(order.heads, pair.b);
  }

  const std::unique_ptr<SafetensorsFile> file_;
  const std::vector<AdapterNumbers::Source> sources_;   // By pair.
  const std::vector<Order> orders_;
};

// The contents of a folder, checked except for the numbers.
class FolderParts {
 public:
  FolderParts(const std::string& folder, const ModelConfig& model) : folder_(folder), model_(model) {}

  absl::Status Open(const MarkedModel& marked) {
    const std::string text_path = ConfigPath();
    ASSIGN_OR_RETURN(const std::string text, ReadFileToString(text_path, kLongestConfig));
    ASSIGN_OR_RETURN(config_, ReadFolderConfig(text, text_path, static_cast<int>(model_.layers.size())));
    ASSIGN_OR_RETURN(file_, OpenNumbers(folder_, config_->form()));
    RETURN_IF_ERROR(CheckMark(*file_, marked));
    AdapterPlan plan(file_->path(), model_);
    for (size_t i = 0; i < file_->tensors().size(); ++i) {
      ASSIGN_OR_RETURN(AdapterHalf half, NamedHalf(*file_, file_->tensors()[i], config_->form()));
      half.source = i;
      RETURN_IF_ERROR(plan.Add(std::move(half)));
    }
    RETURN_IF_ERROR(plan.Check());
    shapes_.path = folder_;
    for (const AdapterPlan::Place& place : plan.places()) RETURN_IF_ERROR(AddPair(plan, place));
    RETURN_IF_ERROR(CheckMissing(plan.places()));
    return file_->CheckUnchanged();
  }

  std::unique_ptr<AdapterReader> TakeReader() && {
    return std::make_unique<FolderReader>(std::move(shapes_), std::move(file_), std::move(sources_), std::move(orders_));
  }

 private:
  std::string ConfigPath() const { return folder_ + "/adapter_config.json"; }

  absl::Status AddPair(const AdapterPlan& plan, const AdapterPlan::Place& place) {
    const AdapterModule module = {.name = place.a.module, .layer = place.a.layer, .matrix = place.a.matrix};
    RETURN_IF_ERROR(config_->CheckModule(module));
    const int rank = config_->RankOf(module);
    if (place.a.rows != rank) {
      return plan.WrongTensor(place.a.tensor, absl::StrCat("found ", place.a.rows, " x ", place.a.columns, ", expected ", rank,
                                                           " rows, the rank in ", ConfigPath()));
    }
    RETURN_IF_ERROR(CheckTurning(plan, place, model_));
    ASSIGN_OR_RETURN(AdapterPair pair, plan.PairOf(place, config_->ScaleOf(module, rank)));
    ASSIGN_OR_RETURN(pair.a, ShapeOf(*file_, place.a));
    ASSIGN_OR_RETURN(pair.b, ShapeOf(*file_, place.b));
    shapes_.pairs.push_back(std::move(pair));
    sources_.push_back({.a = place.a.source, .b = place.b.source});
    orders_.push_back({.transposed = config_->form().transposed, .heads = HeadsToTurn(model_, module.matrix)});
    return absl::OkStatus();
  }

  absl::Status CheckMissing(const std::vector<AdapterPlan::Place>& places) const {
    std::set<std::pair<int, int>> there;
    for (const AdapterPlan::Place& place : places) there.emplace(place.a.layer, place.a.matrix);
    for (int layer = 0; layer < static_cast<int>(model_.layers.size()); ++layer) {
      for (int matrix = 0; matrix < static_cast<int>(std::size(kAdapterTargets)); ++matrix) {
        if (there.contains({layer, matrix})) continue;
        RETURN_IF_ERROR(config_->CheckMissing({.name = ModuleBeside(places[0].a, layer, matrix), .layer = layer, .matrix = matrix}));
      }
    }
    return absl::OkStatus();
  }

  const std::string& folder_;
  const ModelConfig& model_;
  std::unique_ptr<FolderConfig> config_;
  std::unique_ptr<SafetensorsFile> file_;
  AdapterFile shapes_;
  std::vector<AdapterNumbers::Source> sources_;   // By pair.
  std::vector<FolderReader::Order> orders_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdapterReader>> OpenAdapterFolder(const std::string& folder, const MarkedModel& model,
                                                                 const ModelConfig& config) {
  FolderParts parts(folder, config);
  RETURN_IF_ERROR(parts.Open(model));
  return std::move(parts).TakeReader();
}

}  // namespace tessera
