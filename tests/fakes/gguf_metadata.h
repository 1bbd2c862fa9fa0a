// Writes a tokenizer's metadata (tokenizer_metadata.h) as a GGUF file without tensors, or as a part of one.
//
//   auto file = OpenAsGguf(SmallBytePair());      // StatusOr<std::unique_ptr<GgufFile>>; the file on disk is gone already
//   AddTo(builder, SmallBytePair());
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "tessera/model/files/gguf.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tokenizer_metadata.h"

namespace tessera {

inline void AddTo(GgufBuilder& builder, const std::string& key, const TokenizerMetadata::Value& value) {
  struct Adder {
    void operator()(const std::string& text) { builder.String(key, text); }
    void operator()(uint32_t number) { builder.Number(key, number); }
    void operator()(bool option) { builder.Number(key, option); }
    void operator()(const TokenizerMetadata::Texts& texts) { builder.Array(key, GgufType::kString, texts.count, texts.bytes); }
    void operator()(const std::vector<int32_t>& numbers) { builder.Numbers(key, numbers); }
    void operator()(const std::vector<float>& numbers) { builder.Numbers(key, numbers); }
    GgufBuilder& builder;
    const std::string& key;
  };
  std::visit(Adder{builder, key}, value);
}

inline void AddTo(GgufBuilder& builder, const TokenizerMetadata& metadata) {
  for (const auto& [key, value] : metadata.values()) AddTo(builder, key, value);
}

inline absl::StatusOr<std::unique_ptr<GgufFile>> OpenAsGguf(const TokenizerMetadata& metadata) {
  GgufBuilder builder;
  AddTo(builder, metadata);
  const TemporaryFolder folder;
  builder.WriteTo(folder.Path("metadata.gguf"));
  return GgufFile::Open(folder.Path("metadata.gguf"));
}

}  // namespace tessera
