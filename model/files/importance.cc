#include "tessera/model/files/importance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/files/internal/gguf_rules.h"
#include "tessera/model/files/is_gguf.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr int64_t kLargestOldFile = int64_t{256} << 20;  // A dense model of 100 billion weights has some 40 MiB.
constexpr char kType[] = "general.type", kTypeName[] = "imatrix";
constexpr char kDatasets[] = "imatrix.datasets", kChunks[] = "imatrix.chunk_count", kChunkSize[] = "imatrix.chunk_size";
constexpr char kSquares[] = ".in_sum2", kSums[] = ".in_sum", kCounts[] = ".counts";
// Keys of Tessera; other programs ignore both.
constexpr char kModelName[] = "tessera.model.name", kModelVectors[] = "tessera.model.vectors";
constexpr double kMostRows = 9007199254740992.0;  // 2^53: beyond it counts are not whole numbers in a double, either.

absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

// The older form of a file: numbers of 32 bits, little-endian. The file starts with a count of entries. Each entry has the name, the number
// of calls (chunks of text), the number of values and the values, which are mean squares times calls. Then follow, unless the file is very
// old, the chunks and the text's name.
class OldForm {
 public:
  OldForm(absl::string_view bytes, Importance& importance) : bytes_(bytes), importance_(importance) {}

  absl::Status Read() {
    constexpr int64_t kSmallestEntry = 4 + 1 + 4 + 4 + 4;  // Name length, a name, calls, a count, a value.
    ASSIGN_OR_RETURN(const int64_t entries, Number("entries", 1, left() / kSmallestEntry));
    for (int64_t i = 0; i < entries; ++i) {
      place_ = absl::StrCat("entry[", i, "]");
      RETURN_IF_ERROR(ReadEntry());
    }
    place_.clear();
    return ReadText();
  }

 private:
  static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

  int64_t left() const { return static_cast<int64_t>(bytes_.size()) - offset_; }

  absl::Status Error(absl::string_view field, int64_t offset, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(place_, place_.empty() ? "" : ": ", field, " at byte ", offset, ": ", problem));
  }

  absl::StatusOr<absl::string_view> Take(absl::string_view field, int64_t size) {
    if (size > left()) {
      return Error(field, offset_, absl::StrCat("the file is truncated: needs ", size, " bytes, ", left(), " left"));
    }
    const absl::string_view taken = bytes_.substr(static_cast<size_t>(offset_), static_cast<size_t>(size));
    offset_ += size;
    return taken;
  }

  absl::StatusOr<int64_t> Number(absl::string_view field, int64_t least, int64_t most) {
    const int64_t begin = offset_;
    ASSIGN_OR_RETURN(const absl::string_view bytes, Take(field, sizeof(int32_t)));
    int32_t number;
    std::memcpy(&number, bytes.data(), sizeof number);
    if (number >= least && number <= most) return number;
    return Error(field, begin, absl::StrCat("found ", number, ", expected ", least, " to ", std::max(least, most)));
  }

  absl::Status ReadEntry() {
    ASSIGN_OR_RETURN(const int64_t length, Number("name_length", 1, kLongestName));
    const int64_t begin = offset_;
    ASSIGN_OR_RETURN(const absl::string_view name, Take("name", length));
    if (!IsPrintableUtf8(name)) return Error("name", begin, absl::StrCat("found ", Quoted(name), ", expected printable UTF-8"));
    absl::StrAppend(&place_, " ", Quoted(name));
    Importance::Entry entry;
    ASSIGN_OR_RETURN(entry.rows, Number("calls", 1, kMost));
    ASSIGN_OR_RETURN(const int64_t count, Number("values", 1, kMost));
    // No overflow: a count of 31 bits. Allocation comes after a check that the bytes are there.
    ASSIGN_OR_RETURN(const absl::string_view values, Take("values", count * static_cast<int64_t>(sizeof(float))));
    entry.mean_squares.resize(static_cast<size_t>(count));
    std::memcpy(entry.mean_squares.data(), values.data(), values.size());
    for (float& square : entry.mean_squares) square /= static_cast<float>(entry.rows);
    return importance_.Add(name, std::move(entry));
  }

  absl::Status ReadText() {
    if (left() == 0) return absl::OkStatus();
    Importance::Text text;
    ASSIGN_OR_RETURN(const int64_t chunks, Number("chunks", 0, kMost));
    text.chunks = static_cast<uint32_t>(chunks);
    if (left() > 0) {
      ASSIGN_OR_RETURN(const int64_t length, Number("dataset_length", 0, kMost));
      ASSIGN_OR_RETURN(const absl::string_view dataset, Take("dataset", length));
      if (length > 0) text.datasets.emplace_back(dataset);
    }
    importance_.SetText(std::move(text));
    return left() == 0 ? absl::OkStatus() : Error("end", offset_, absl::StrCat("found ", left(), " bytes more, expected none"));
  }

  const absl::string_view bytes_;
  Importance& importance_;
  int64_t offset_ = 0;
  std::string place_;   // The current entry.
};

// The GGUF form of a file: for each matrix the sums of squares, and the number of rows in the sums.
class GgufForm {
 public:
  GgufForm(const GgufFile& file, Importance& importance) : file_(file), importance_(importance) {}

  absl::Status Read() {
    RETURN_IF_ERROR(ReadKeys());
    for (const GgufTensor& tensor : file_.tensors()) RETURN_IF_ERROR(ReadTensor(tensor));
    if (!file_.unread_tensors().empty()) return file_.unread_tensors()[0].problem;
    if (!importance_.entries().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": tensors: found none, expected statistics of at least one"));
  }

 private:
  absl::Status ReadKeys() {
    ASSIGN_OR_RETURN(const absl::string_view type, file_.String(kType));
    if (type != kTypeName) return file_.Unexpected(kType, absl::StrCat("\"", kTypeName, "\", statistics of activations"));
    Importance::Text text;
    if (file_.Find(kDatasets) != nullptr) {
      ASSIGN_OR_RETURN(const LengthPrefixedStrings datasets, file_.Strings(kDatasets));
      for (const absl::string_view dataset : datasets) text.datasets.emplace_back(dataset);
    }
    ASSIGN_OR_RETURN(text.chunks, Number(kChunks));
    ASSIGN_OR_RETURN(text.chunk_size, Number(kChunkSize));
    importance_.SetText(std::move(text));
    if (file_.Find(kModelVectors) == nullptr) return absl::OkStatus();
    Importance::ModelMark mark;
    ASSIGN_OR_RETURN(const absl::string_view name, file_.StringOr(kModelName, ""));
    mark.name = std::string(name);
    ASSIGN_OR_RETURN(mark.vectors, Number(kModelVectors));
    importance_.SetMark(std::move(mark));
    return absl::OkStatus();
  }

  // Returns the number under a key; 0 if the key is absent.
  absl::StatusOr<uint32_t> Number(const char* key) const {
    ASSIGN_OR_RETURN(const uint64_t number, file_.UintOr(key, 0));
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    if (number > kMost) return file_.WrongValue(key, absl::StrCat("found ", number, ", expected at most ", kMost));
    return static_cast<uint32_t>(number);
  }

  absl::Status Wrong(const GgufTensor& tensor, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(file_.PathOf(tensor), ": tensor ", tensor.name, ": ", problem));
  }

  // Reads an entry with its sums of squares; other tensors must belong to an entry.
  absl::Status ReadTensor(const GgufTensor& tensor) {
    absl::string_view name = tensor.name;
    const bool squares = absl::ConsumeSuffix(&name, kSquares);
    if ((!squares && !absl::ConsumeSuffix(&name, kCounts) && !absl::ConsumeSuffix(&name, kSums)) || name.empty()) {
      return Wrong(tensor, absl::StrCat("found a name that is not read, expected one with ", kSquares, ", ", kCounts, " or ", kSums,
                                        " behind that of a matrix"));
    }
    const std::string partner = absl::StrCat(name, squares ? kCounts : kSquares);
    const GgufTensor* const other = file_.FindTensor(partner);
    if (other == nullptr) return Wrong(tensor, absl::StrCat("found no tensor ", partner, ", expected one"));
    return squares ? ReadEntry(name, tensor, *other) : absl::OkStatus();
  }

  absl::Status ReadEntry(absl::string_view name, const GgufTensor& squares, const GgufTensor& counts) {
    if (PaddedShape(counts) != std::array<int64_t, 4>{1, 1, 1, 1}) {
      return Wrong(counts, "found more than one count, expected one: models with experts are not run");
    }
    if (PaddedShape(squares)[1] != 1 || PaddedShape(squares)[2] != 1 || PaddedShape(squares)[3] != 1) {
      return Wrong(squares, "found more than one matrix, expected one: models with experts are not run");
    }
    ASSIGN_OR_RETURN(const std::vector<float> count, Floats(counts));
    if (!(count[0] >= 1 && count[0] <= kMostRows) || std::floor(count[0]) != count[0]) {
      return Wrong(counts, absl::StrCat("found ", count[0], ", expected a whole number from 1 to ", kMostRows));
    }
    Importance::Entry entry;
    entry.rows = static_cast<int64_t>(count[0]);
    ASSIGN_OR_RETURN(entry.mean_squares, Floats(squares));
    for (float& square : entry.mean_squares) square /= count[0];
    return Prefixed(file_.PathOf(squares), importance_.Add(name, std::move(entry)));
  }

  absl::StatusOr<std::vector<float>> Floats(const GgufTensor& tensor) const {
    if (tensor.format->format != BlockFormat::kF32) {
      return Wrong(tensor, absl::StrCat("found format ", tensor.format->name, ", expected F32"));
    }
    std::vector<float> values(static_cast<size_t>(tensor.size) / sizeof(float));
    RETURN_IF_ERROR(file_.Read(tensor, 0, {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)}));
    return values;
  }

  const GgufFile& file_;
  Importance& importance_;
};

std::string Shown(const Importance::ModelMark& mark) { return absl::StrFormat("%s (vectors %08x)", Quoted(mark.name), mark.vectors); }

absl::Span<const std::byte> BytesOf(absl::Span<const float> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

absl::StatusOr<Importance> Importance::Read(const std::string& path) {
  Importance importance;
  importance.path_ = path;
  ASSIGN_OR_RETURN(const bool is_gguf, IsGguf(path));
  if (is_gguf) {
    ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(path));
    RETURN_IF_ERROR(GgufForm(*file, importance).Read());
    RETURN_IF_ERROR(file->CheckUnchanged());
  } else {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(path, kLargestOldFile));
    RETURN_IF_ERROR(Prefixed(absl::StrCat(path, ": importance matrix in its older form"), OldForm(bytes, importance).Read()));
  }
  return importance;
}

absl::StatusOr<Importance::ModelMark> Importance::MarkOf(const GgufFile& model, const ModelConfig& config) {
  ModelMark mark;
  ASSIGN_OR_RETURN(const absl::string_view name, model.StringOr("general.name", ""));
  mark.name = std::string(name);
  for (const TensorNeed& need : AllNeeds(config)) {
    if (!need.vector) continue;
    ASSIGN_OR_RETURN(const GgufTensor* const tensor, FindNeeded(model, need));
    std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
    RETURN_IF_ERROR(model.Read(*tensor, 0, absl::MakeSpan(bytes)));
    std::vector<float> values(static_cast<size_t>(need.columns));
    tensor->format->dequantize(bytes.data(), need.columns, values.data());
    mark.vectors = Crc32c(BytesOf(values), mark.vectors);
  }
  return mark;
}

absl::Status Importance::Add(absl::string_view tensor, Entry entry) {
  const auto wrong = [tensor](absl::string_view problem) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor, ": ", problem));
  };
  if (entry.mean_squares.empty()) return wrong("inputs: found none, expected at least 1");
  if (entry.rows < 1) return wrong(absl::StrCat("rows: found ", entry.rows, ", expected at least 1"));
  for (size_t i = 0; i < entry.mean_squares.size(); ++i) {
    const float square = entry.mean_squares[i];
    if (std::isfinite(square) && square >= 0) continue;
    return wrong(absl::StrCat("mean square of input ", i, ": found ", square, ", expected a finite number of 0 or more"));
  }
  if (entries_.emplace(std::string(tensor), std::move(entry)).second) return absl::OkStatus();
  return wrong("found it a second time, expected it once");
}

absl::Span<const float> Importance::Of(absl::string_view tensor) const {
  const auto found = entries_.find(std::string(tensor));
  if (found == entries_.end()) return {};
  return found->second.mean_squares;
}

absl::Status Importance::WrongTensor(absl::string_view tensor, absl::string_view problem) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": tensor ", tensor, ": ", problem));
}

absl::Status Importance::CheckFits(const GgufFile& model, const ModelConfig& config) const {
  const auto of_another = [&model](absl::string_view problem) {
    return absl::StrCat(problem, ": statistics of another model than ", model.path());
  };
  std::map<std::string, int64_t> inputs;   // By matrix of the model.
  for (const TensorNeed& need : AllNeeds(config)) {
    if (need.vector) continue;
    inputs[need.name] = need.columns;
    const bool of_layer = need.name != need.label;   // Others have one name.
    if (of_layer && entries_.count(need.name) == 0) {
      return WrongTensor(need.name, of_another(absl::StrCat("found none, expected ", need.columns, " inputs")));
    }
  }
  for (const auto& [tensor, entry] : entries_) {
    const auto known = inputs.find(tensor);
    if (known == inputs.end()) return WrongTensor(tensor, of_another("found statistics of it, expected those of a matrix of the model"));
    if (static_cast<int64_t>(entry.mean_squares.size()) == known->second) continue;
    return WrongTensor(tensor, of_another(absl::StrCat("found ", entry.mean_squares.size(), " inputs, expected ", known->second)));
  }
  if (!mark_.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ModelMark mark, MarkOf(model, config));
  if (mark.vectors == mark_->vectors) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ": ", kModelVectors, ": ", of_another(absl::StrCat("found those of ", Shown(*mark_), ", expected ", Shown(mark)))));
}

absl::Status Importance::Write(const std::string& path) const {
  GgufWriter writer;
  writer.String(kType, kTypeName).Strings(kDatasets, text_.datasets);
  writer.Number<uint32_t>(kChunks, text_.chunks).Number<uint32_t>(kChunkSize, text_.chunk_size);
  if (mark_.has_value()) writer.String(kModelName, mark_->name).Number<uint32_t>(kModelVectors, mark_->vectors);
  std::vector<const std::pair<const std::string, Entry>*> entries;
  for (const auto& entry : entries_) {
    writer.Tensor(absl::StrCat(entry.first, kSquares), BlockFormat::kF32, {static_cast<int64_t>(entry.second.mean_squares.size()), 1});
    writer.Tensor(absl::StrCat(entry.first, kCounts), BlockFormat::kF32, {1, 1});
    entries.push_back(&entry);
  }
  return writer.Write(path, [&](int tensor, GgufWriter::Append append) -> absl::Status {
    const auto& [name, entry] = *entries[static_cast<size_t>(tensor / 2)];
    const float rows = static_cast<float>(entry.rows);
    if (tensor % 2 == 1) return append(BytesOf(absl::MakeConstSpan(&rows, 1)));
    std::vector<float> sums = entry.mean_squares;
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] *= rows;
      if (!std::isfinite(sums[i])) {
        return WrongTensor(name, absl::StrCat("sum of squares of input ", i, ": found more than FP32 holds, expected at most ",
                                              std::numeric_limits<float>::max()));
      }
    }
    return append(BytesOf(sums));
  });
}

}  // namespace tessera
