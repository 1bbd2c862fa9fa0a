// GGUF files that hold metadata and no tensors: start from a good one and spoil one thing.
//
//   GgufMetadata metadata;
//   metadata.Set("tokenizer.ggml.model", GgufMetadata::String("gpt2"));
//   metadata.Set("tokenizer.ggml.tokens", GgufMetadata::Strings({"a", "b", "ab"}));
//   auto file = metadata.Open();      // StatusOr<std::unique_ptr<GgufFile>>; the file on disk is gone already
//
// Set replaces a key, Remove drops it. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/model/files/gguf.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {

class GgufMetadata {
 public:
  using Value = std::function<void(GgufBuilder& builder, const std::string& key)>;

  static Value String(const std::string& text) { return [=](auto& builder, auto& key) { builder.String(key, text); }; }
  static Value Uint(uint32_t value) { return [=](auto& builder, auto& key) { builder.Number(key, value); }; }
  static Value Bool(bool value) { return [=](auto& builder, auto& key) { builder.Number(key, value); }; }
  static Value Strings(const std::vector<std::string>& texts) {
    return [=](auto& builder, auto& key) { builder.Strings(key, texts); };
  }
  static Value Ints(const std::vector<int32_t>& values) { return [=](auto& builder, auto& key) { builder.Numbers(key, values); }; }
  static Value Floats(const std::vector<float>& values) { return [=](auto& builder, auto& key) { builder.Numbers(key, values); }; }

  void Set(const std::string& key, Value value) { values_[key] = std::move(value); }
  void Remove(const std::string& key) { values_.erase(key); }

  void AddTo(GgufBuilder& builder) const {
    for (const auto& [key, value] : values_) value(builder, key);
  }

  absl::StatusOr<std::unique_ptr<GgufFile>> Open() const {
    GgufBuilder builder;
    AddTo(builder);
    const TemporaryFolder folder;
    builder.WriteTo(folder.Path("metadata.gguf"));
    return GgufFile::Open(folder.Path("metadata.gguf"));
  }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace tessera
