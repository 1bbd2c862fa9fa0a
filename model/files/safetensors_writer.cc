#include "tessera/model/files/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/safetensors_rules.h"

namespace tessera {
namespace {

absl::Status Wrong(absl::string_view path, absl::string_view what, absl::string_view name, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what, " ", Quoted(name), ": ", problem));
}

absl::Status CheckMetadata(const std::string& path, const SafetensorsWriter::Metadata& metadata) {
  absl::flat_hash_set<std::string> keys;
  for (const auto& [key, text] : metadata) {
    if (!IsPrintableUtf8(key)) return Wrong(path, "metadata", key, "found this key, expected printable UTF-8");
    if (!IsPrintableUtf8(text)) return Wrong(path, "metadata", key, absl::StrCat("found ", Quoted(text), ", expected printable UTF-8"));
    if (!keys.insert(key).second) return Wrong(path, "metadata", key, "found a second time, expected each key once");
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const std::string& path, absl::Span<const SafetensorsWriter::Tensor> tensors) {
  absl::flat_hash_set<std::string> names;
  for (const SafetensorsWriter::Tensor& tensor : tensors) {
    const std::string problem = ProblemOfTensorName(tensor.name);
    if (!problem.empty()) return Wrong(path, "tensor", tensor.name, problem);
    if (tensor.name == kSafetensorsMetadata) return Wrong(path, "tensor", tensor.name, "found the name of the texts, expected another");
    if (!names.insert(tensor.name).second) return Wrong(path, "tensor", tensor.name, "found a second time, expected each name once");
  }
  return absl::OkStatus();
}

// Returns the tensors' numbers in the order of the bytes.
std::vector<size_t> OrderInFile(absl::Span<const SafetensorsWriter::Tensor> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_tuple(-InfoOf(tensors[a].type).bytes, absl::string_view(tensors[a].name)) <
           std::make_tuple(-InfoOf(tensors[b].type).bytes, absl::string_view(tensors[b].name));
  });
  return order;
}

void PutTensor(const SafetensorsWriter::Tensor& tensor, int64_t begin, int64_t end, JsonWriter& json) {
  json.Key(tensor.name).BeginObject().Key("dtype").String(InfoOf(tensor.type).name).Key("shape").BeginArray();
  for (const int64_t length : tensor.shape) json.Int(length);
  json.EndArray().Key("data_offsets").BeginArray().Int(begin).Int(end).EndArray().EndObject();
}

void PutMetadata(const SafetensorsWriter::Metadata& metadata, JsonWriter& json) {
  if (metadata.empty()) return;
  json.Key(kSafetensorsMetadata).BeginObject();
  for (const auto& [key, text] : metadata) json.Key(key).String(text);
  json.EndObject();
}

// Returns length and header, padded so that the data begin at a multiple of eight.
absl::StatusOr<std::string> Framed(const std::string& path, std::string header) {
  header.resize(static_cast<size_t>(AlignUp(static_cast<int64_t>(header.size()), kSafetensorsLengthBytes)), ' ');
  if (static_cast<int64_t>(header.size()) > SafetensorsFile::kLongestHeader) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": header: found ", header.size(), " bytes, expected at most ",
                                                   SafetensorsFile::kLongestHeader));
  }
  const uint64_t length = header.size();
  std::string framed(sizeof length, '\0');
  std::memcpy(framed.data(), &length, sizeof length);
  return framed + header;
}

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

}  // namespace

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(const std::string& path, std::vector<Tensor> tensors,
                                                            const Metadata& metadata) {
  RETURN_IF_ERROR(CheckMetadata(path, metadata));
  RETURN_IF_ERROR(CheckNames(path, tensors));
  std::vector<Planned> planned(tensors.size());
  JsonWriter json;
  json.BeginObject();
  PutMetadata(metadata, json);
  int64_t end = 0;
  for (const size_t i : OrderInFile(tensors)) {
    const absl::StatusOr<int64_t> bytes = BytesOfSafetensors(tensors[i].type, tensors[i].shape);
    if (!bytes.ok()) return Wrong(path, "tensor", tensors[i].name, absl::StrCat("shape: ", bytes.status().message()));
    planned[i] = {.name = tensors[i].name, .bytes = *bytes, .offset = end};
    ASSIGN_OR_RETURN(end, CheckedAdd(end, *bytes));
    PutTensor(tensors[i], planned[i].offset, end, json);
  }
  json.EndObject();
  ASSIGN_OR_RETURN(const std::string header, Framed(path, std::move(json).Take()));
  const int64_t data_begin = static_cast<int64_t>(header.size());
  for (Planned& tensor : planned) tensor.offset += data_begin;
  ASSIGN_OR_RETURN(const int64_t size, CheckedAdd(end, data_begin));
  if (size > kLargestSafetensors) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": size: found ", size, " bytes, expected at most ", kLargestSafetensors));
  }
  ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path));
  RETURN_IF_ERROR(file.Reserve(size));
  RETURN_IF_ERROR(file.WriteAt(0, BytesOf(header)));
  return SafetensorsWriter(path, std::move(file), std::move(planned));
}

absl::Status SafetensorsWriter::Append(int tensor, absl::Span<const std::byte> bytes) {
  CHECK(tensor >= 0 && tensor < static_cast<int>(tensors_.size())) << tensor << " of " << tensors_.size();
  Planned& planned = tensors_[static_cast<size_t>(tensor)];
  const int64_t found = static_cast<int64_t>(bytes.size()), left = planned.bytes - planned.written;
  if (found > left) {
    return Wrong(path_, "tensor", planned.name,
                 absl::StrCat("found ", found, " bytes after ", planned.written, ", expected at most ", left, " more"));
  }
  RETURN_IF_ERROR(file_.WriteAt(planned.offset + planned.written, bytes));
  planned.written += found;
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Commit() {
  for (const Planned& tensor : tensors_) {
    if (tensor.written == tensor.bytes) continue;
    return Wrong(path_, "tensor", tensor.name, absl::StrCat("found ", tensor.written, " bytes, expected ", tensor.bytes));
  }
  return file_.Commit();
}

}  // namespace tessera
