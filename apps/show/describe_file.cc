#include "tessera/apps/show/describe_file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/show/describe_chat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr uint64_t kShownElements = 6;
constexpr size_t kShownBytes = 72;

template <typename T>
T ElementAt(const GgufValue& value, uint64_t index) {
  T element;
  std::memcpy(&element, value.bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

absl::string_view StringAt(const GgufValue& value, uint64_t index) {
  auto text = value.Strings().begin();
  for (; index > 0; --index) ++text;
  return *text;
}

void WriteShortened(JsonWriter& json, absl::string_view text) {
  if (text.size() <= kShownBytes) {
    json.String(text);
    return;
  }
  size_t shown = kShownBytes;
  while (shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;  // No half characters.
  json.String(absl::StrCat(text.substr(0, shown), "... (", text.size(), " bytes)"));
}

// REQUIRES: index < value.count.
void WriteElement(JsonWriter& json, const GgufValue& value, uint64_t index) {
  switch (value.element_type) {
    case GgufType::kUint8: json.Int(ElementAt<uint8_t>(value, index)); return;
    case GgufType::kInt8: json.Int(ElementAt<int8_t>(value, index)); return;
    case GgufType::kUint16: json.Int(ElementAt<uint16_t>(value, index)); return;
    case GgufType::kInt16: json.Int(ElementAt<int16_t>(value, index)); return;
    case GgufType::kUint32: json.Int(ElementAt<uint32_t>(value, index)); return;
    case GgufType::kInt32: json.Int(ElementAt<int32_t>(value, index)); return;
    case GgufType::kUint64: json.Uint(ElementAt<uint64_t>(value, index)); return;
    case GgufType::kInt64: json.Int(ElementAt<int64_t>(value, index)); return;
    case GgufType::kFloat32: json.Double(ElementAt<float>(value, index), 7); return;
    case GgufType::kFloat64: json.Double(ElementAt<double>(value, index)); return;
    case GgufType::kBool: json.Bool(ElementAt<uint8_t>(value, index) != 0); return;
    case GgufType::kString: WriteShortened(json, StringAt(value, index)); return;
    case GgufType::kArray: json.Null(); return;  // Arrays of arrays do not pass the reader.
  }
}

void WriteElements(JsonWriter& json, const GgufValue& value) {
  json.BeginArray();
  for (uint64_t i = 0; i < std::min(value.count, kShownElements); ++i) WriteElement(json, value, i);
  json.EndArray();
}

std::string TypeText(const GgufValue& value) {
  if (value.type != GgufType::kArray) return std::string(GgufTypeName(value.type));
  return absl::StrCat(GgufTypeName(value.element_type), "[", value.count, "]");
}

std::string ValueText(const GgufValue& value) {
  JsonWriter json;
  if (value.type != GgufType::kArray) {
    WriteElement(json, value, 0);
    return json.text();
  }
  WriteElements(json, value);
  return absl::StrCat(json.text(), value.count > kShownElements ? " ..." : "");
}

// Returns a key or name from the file, safe to print.
std::string Escaped(absl::string_view name) {
  JsonWriter json;
  WriteShortened(json, name);
  return json.text().substr(1, json.text().size() - 2);
}

void WriteTensor(JsonWriter& json, const GgufTensor& tensor) {
  json.BeginObject().Key("name").String(tensor.name).Key("shape").BeginArray();
  for (int64_t size : tensor.shape) json.Int(size);
  json.EndArray();
  json.Key("format").String(tensor.format->name);
  json.Key("bytes").Int(tensor.size);
  json.Key("offset").Int(tensor.offset);
  json.EndObject();
}

std::string MetadataTable(const GgufFile& file) {
  Table metadata({{"key"}, {"type"}, {"value"}});
  for (const auto& [key, value] : file.metadata()) metadata.AddRow({Escaped(key), TypeText(value), ValueText(value)});
  return metadata.ToString();
}

void WriteMetadata(JsonWriter& json, const GgufFile& file) {
  json.BeginArray();
  for (const auto& [key, value] : file.metadata()) {
    json.BeginObject().Key("key").String(key).Key("type").String(TypeText(value));
    if (value.type == GgufType::kArray) {
      json.Key("count").Uint(value.count);
      WriteElements(json.Key("first"), value);
    } else if (value.type == GgufType::kString) {
      json.Key("value").String(*value.Strings().begin());  // In full, since a program may need the chat template.
    } else {
      WriteElement(json.Key("value"), value, 0);
    }
    json.EndObject();
  }
  json.EndArray();
}

// Returns the form of a tensor: the format in GGUF, or a recipe's form. Returns "" if the header has no tensor of the name.
std::string FormatOf(const GgufFile& file, const WeightRecipe& recipe, const std::string& name) {
  const GgufTensor* tensor = file.FindTensor(name);
  if (tensor == nullptr) return "";
  const bool tied_head = file.FindTensor("output.weight") == nullptr;
  const WeightForm form = recipe.FormOf(name, tied_head, tensor->format->format, tensor->shape[0]);
  return form.tile.has_value() ? TileSchemeName(*form.tile) : InfoOf(form.format).name;
}

}  // namespace

std::string FileText(const GgufFile& file) {
  Table tensors({{"tensor"}, {"shape"}, {"format"}, {"bytes", Table::Align::kRight}, {"offset", Table::Align::kRight}});
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.AddRow({Escaped(tensor.name), absl::StrJoin(tensor.shape, " x "), tensor.format->name,
                    absl::StrCat(tensor.size), absl::StrCat(tensor.offset)});
  }
  for (const GgufUnreadTensor& tensor : file.unread_tensors()) tensors.AddRow({Escaped(tensor.name), "", "not read", "", ""});
  return absl::StrCat(file.path(), ": GGUF version ", file.version(), ", ", FormatByteSize(file.size()), ", ", file.metadata().size(),
                      " metadata entries, ", file.tensors().size() + file.unread_tensors().size(), " tensors\n\n", MetadataTable(file),
                      ChatText(file),
                      "\n", tensors.ToString());
}

std::string FileJson(const GgufFile& file) {
  JsonWriter json(1);
  json.BeginObject();
  json.Key("path").String(file.path()).Key("version").Int(file.version()).Key("bytes").Int(file.size());
  WriteMetadata(json.Key("metadata"), file);
  WriteChat(json.Key("chat_template"), file);
  json.Key("tensors").BeginArray();
  for (const GgufTensor& tensor : file.tensors()) WriteTensor(json, tensor);
  json.EndArray().Key("unread_tensors").BeginArray();
  for (const GgufUnreadTensor& tensor : file.unread_tensors()) json.String(tensor.name);
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

std::string PackedText(const TsrReader& reader, const GgufFile& file, const WeightRecipe& recipe) {
  Table entries({{"unit", Table::Align::kRight},
                 {"tensor"},
                 {"format"},
                 {"bytes", Table::Align::kRight},
                 {"offset", Table::Align::kRight}});
  for (int unit = 0; unit < reader.units(); ++unit) {
    for (const TsrEntry& entry : reader.Entries(unit)) {
      entries.AddRow({absl::StrCat(unit), Escaped(entry.name), FormatOf(file, recipe, entry.name), absl::StrCat(entry.bytes),
                      absl::StrCat(reader.UnitOffset(unit) + entry.offset)});
    }
  }
  return absl::StrCat(reader.path(), ": tsr version 1.", reader.minor_version(), ", ", FormatByteSize(reader.file_bytes()),
                      ", uuid ", FormatTsrUuid(reader.uuid()), ", layout ", Escaped(reader.layout()),
                      recipe.keeps_all() ? "" : absl::StrCat(", recipe ", recipe.name()), ", ", reader.units(),
                      " units, ", reader.blocks(), " blocks, packed from ", FormatByteSize(file.size()), " of GGUF version ",
                      file.version(), "\n\n", MetadataTable(file), ChatText(file), "\n", entries.ToString());
}

std::string PackedJson(const TsrReader& reader, const GgufFile& file, const WeightRecipe& recipe) {
  JsonWriter json(1);
  json.BeginObject().Key("path").String(reader.path()).Key("tsr_version").String(absl::StrCat("1.", reader.minor_version()));
  json.Key("uuid").String(FormatTsrUuid(reader.uuid())).Key("layout").String(reader.layout());
  json.Key("recipe").String(recipe.text());
  json.Key("bytes").Int(reader.file_bytes());
  json.Key("manifest_bytes").Int(reader.manifest_bytes()).Key("blocks").Int(reader.blocks());
  json.Key("version").Int(file.version()).Key("gguf_bytes").Int(file.size());
  WriteMetadata(json.Key("metadata"), file);
  WriteChat(json.Key("chat_template"), file);
  json.Key("units").BeginArray();
  for (int unit = 0; unit < reader.units(); ++unit) {
    json.BeginObject().Key("offset").Int(reader.UnitOffset(unit)).Key("bytes").Int(reader.UnitBytes(unit));
    json.Key("entries").BeginArray();
    for (const TsrEntry& entry : reader.Entries(unit)) {
      json.BeginObject().Key("name").String(entry.name).Key("format").String(FormatOf(file, recipe, entry.name));
      json.Key("offset").Int(entry.offset).Key("bytes").Int(entry.bytes).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

std::string PiecesText(absl::string_view path, const TsrSummary& summary) {
  const int64_t expected = 1 + summary.file_bytes / kTsrBytesPerExtent;
  if (summary.extents <= expected) return "";
  return absl::StrCat(path, ": found ", summary.extents, " pieces on the disk, expected at most ", expected,
                      ": streaming from it may be slow; free some room there and pack again\n");
}

}  // namespace tessera
