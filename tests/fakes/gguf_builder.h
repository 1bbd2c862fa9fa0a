// Writes small GGUF files for tests: valid files and, through Corrupt, invalid ones.
//
//   GgufBuilder builder;
//   builder.String("general.architecture", "llama").Number<uint32_t>("llama.block_count", 2);
//   builder.Tensor("a", {32, 2}, /*gguf_type=*/0, std::string(256, '\0'));
//   std::string file = builder.Build();                                       // or builder.WriteTo(path)
//   builder.Corrupt<uint64_t>("tensor a ne0", 0);                              // the next Build writes 0 there
//
// Fields that can be corrupted, with their width: "magic", "version" (uint32), "tensor_count", "metadata_count" (uint64);
// "metadata KEY F" with F one of key_length (uint64), type, element_type (uint32), count (uint64), value (of the entry's type; of
// a string its length, uint64); "tensor NAME F" with F one of name_length (uint64), n_dims (uint32), ne0..ne3 (uint64), type
// (uint32), offset (uint64). A corrupted field keeps its place; nothing after it moves. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

class GgufBuilder {
 public:
  GgufBuilder& Version(uint32_t version) { version_ = version; return *this; }

  // Sets the alignment of tensor data, without and with the key general.alignment.
  GgufBuilder& SilentAlignment(uint32_t alignment) { alignment_ = alignment; return *this; }
  GgufBuilder& Alignment(uint32_t alignment) { return SilentAlignment(alignment).Number("general.alignment", alignment); }

  template <typename T>
  GgufBuilder& Number(const std::string& key, T value) {
    return Raw(key, GgufTypeOf<T>(), {{"value", Bytes(value)}});
  }
  template <typename T>
  GgufBuilder& Numbers(const std::string& key, const std::vector<T>& values) {
    std::string bytes;
    for (T value : values) bytes += Bytes(value);
    return Array(key, GgufTypeOf<T>(), values.size(), bytes);
  }
  GgufBuilder& String(const std::string& key, const std::string& value) {
    return Raw(key, GgufType::kString, {{"value", Counted(value)}});
  }
  GgufBuilder& Strings(const std::string& key, const std::vector<std::string>& values) {
    std::string bytes;
    for (const std::string& value : values) bytes += Counted(value);
    return Array(key, GgufType::kString, values.size(), bytes);
  }

  // An array whose element type and count need not fit its bytes.
  GgufBuilder& Array(const std::string& key, GgufType element_type, uint64_t count, const std::string& bytes) {
    return Raw(key, GgufType::kArray, {{"element_type", Bytes(element_type)}, {"count", Bytes(count)}, {"value", bytes}});
  }

  // Adds an entry of any bytes: the named parts follow the type, one after the other.
  using Parts = std::vector<std::pair<std::string, std::string>>;
  GgufBuilder& Raw(const std::string& key, GgufType type, Parts parts) {
    parts.insert(parts.begin(), {"type", Bytes(type)});
    entries_.push_back({key, std::move(parts)});
    return *this;
  }

  // Removes an entry, to be missed or added anew. REQUIRES: the entry exists.
  GgufBuilder& Remove(const std::string& key) {
    CHECK_EQ(std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; }), 1u) << "no key " << key;
    return *this;
  }
  GgufBuilder& RemoveTensor(const std::string& name) {
    CHECK_EQ(std::erase_if(tensors_, [&](const Matrix& tensor) { return tensor.name == name; }), 1u) << "no tensor " << name;
    return *this;
  }

  // Tensors lie one after the other, each at the next multiple of the alignment. shape: fastest dimension first.
  GgufBuilder& Tensor(const std::string& name, const std::vector<uint64_t>& shape, uint32_t gguf_type, const std::string& bytes) {
    tensors_.push_back({name, shape, gguf_type, bytes});
    return *this;
  }

  // Returns the same model in parts, tensors dealt out in order: WriteTo("x-00001-of-00003.gguf") and so on.
  std::vector<GgufBuilder> Split(uint16_t count) const {
    std::vector<GgufBuilder> parts(count);
    parts[0].entries_ = entries_;
    for (uint16_t part = 0; part < count; ++part) {
      parts[part].Number("split.no", part).Number("split.count", count);
      parts[part].Number("split.tensors.count", static_cast<int32_t>(tensors_.size()));
      const auto first = [&](size_t of) { return tensors_.begin() + static_cast<std::ptrdiff_t>(tensors_.size() * of / count); };
      parts[part].tensors_.assign(first(part), first(part + size_t{1}));
    }
    return parts;
  }

  template <typename T>
  GgufBuilder& Corrupt(const std::string& field, std::type_identity_t<T> value) {
    corruptions_.emplace_back(field, Bytes(value));
    return *this;
  }

  std::string Build() {
    file_.clear();
    fields_.clear();
    Put("magic", "GGUF");
    Put("version", Bytes(version_));
    Put("tensor_count", Bytes(uint64_t{tensors_.size()}));
    Put("metadata_count", Bytes(uint64_t{entries_.size()}));
    for (const Entry& entry : entries_) {
      const std::string place = "metadata " + entry.key + " ";
      Put(place + "key_length", Counted(entry.key));
      for (const auto& [field, bytes] : entry.parts) Put(place + field, bytes);
    }
    PutTensors();
    for (const auto& [field, bytes] : corruptions_) file_.replace(OffsetOf(field), bytes.size(), bytes);
    return file_;
  }

  // Returns the offset of a field in the file built last. REQUIRES: there is such a field.
  size_t OffsetOf(const std::string& field) const {
    CHECK(fields_.count(field) == 1) << "no field " << field;
    return fields_.at(field);
  }
  // Returns the offset of each field, and of the tensors' data ("data").
  const std::map<std::string, size_t>& fields() const { return fields_; }

  void WriteTo(const std::string& path) {
    std::ofstream out(path, std::ios::binary);
    out << Build();
    CHECK(out.flush().good()) << path;
  }

 private:
  struct Entry { std::string key; Parts parts; };
  struct Matrix { std::string name; std::vector<uint64_t> shape; uint32_t type; std::string bytes; };

  template <typename T>
  static std::string Bytes(T value) {  // Little-endian, as every machine that runs these tests is.
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string Counted(const std::string& text) { return Bytes(uint64_t{text.size()}) + text; }

  void Put(const std::string& field, const std::string& bytes) {
    fields_[field] = file_.size();
    file_ += bytes;
  }
  void Pad() { file_.resize((file_.size() + alignment_ - 1) / alignment_ * alignment_); }

  void PutTensors() {
    uint64_t offset = 0;
    for (const Matrix& tensor : tensors_) {
      const std::string place = "tensor " + tensor.name + " ";
      Put(place + "name_length", Counted(tensor.name));
      Put(place + "n_dims", Bytes(static_cast<uint32_t>(tensor.shape.size())));
      for (size_t i = 0; i < tensor.shape.size(); ++i) Put(place + "ne" + std::to_string(i), Bytes(tensor.shape[i]));
      Put(place + "type", Bytes(tensor.type));
      Put(place + "offset", Bytes(offset));
      offset += (tensor.bytes.size() + alignment_ - 1) / alignment_ * alignment_;
    }
    if (!tensors_.empty()) Pad();
    fields_["data"] = file_.size();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      file_ += tensors_[i].bytes;
      if (i + 1 < tensors_.size()) Pad();
    }
  }

  uint32_t version_ = 3, alignment_ = 32;
  std::vector<Entry> entries_;
  std::vector<Matrix> tensors_;
  std::vector<std::pair<std::string, std::string>> corruptions_;
  std::string file_;
  std::map<std::string, size_t> fields_;
};

}  // namespace tessera
