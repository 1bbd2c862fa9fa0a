// A tokenizer's metadata as read from a file, without a file: start from a good one and spoil one entry.
//
//   TokenizerMetadata metadata;
//   metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("gpt2"));
//   metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings({"a", "b", "ab"}));
//   auto tokenizer = Tokenizer::Create(metadata.Facts());     // or in a file: gguf_metadata.h
//
// Set replaces a key, Remove drops one. Facts have the place kPath, byte kOffset, and view the metadata. Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glog/logging.h"
#include "tessera/base/length_prefixed_strings.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

class TokenizerMetadata {
 public:
  static constexpr char kPath[] = "metadata.gguf";
  static constexpr int64_t kOffset = 1000;

  struct Texts {
    std::string bytes;
    uint64_t count = 0;
  };
  using Value = std::variant<std::string, uint32_t, bool, Texts, std::vector<int32_t>, std::vector<float>>;

  static Value String(const std::string& text) { return text; }
  static Value Uint(uint32_t value) { return value; }
  static Value Bool(bool value) { return value; }
  static Value Strings(const std::vector<std::string>& texts) {
    Texts all = {.count = texts.size()};
    for (const std::string& text : texts) AppendLengthPrefixed(text, all.bytes);
    return all;
  }
  static Value Ints(const std::vector<int32_t>& values) { return values; }
  static Value Floats(const std::vector<float>& values) { return values; }

  void Set(const std::string& key, Value value) { values_[key] = std::move(value); }
  void Remove(const std::string& key) { values_.erase(key); }
  const std::map<std::string, Value>& values() const { return values_; }

  TokenizerFacts Facts() const {
    TokenizerFacts facts;
    for (auto* const text : {&facts.model, &facts.pre_tokenizer, &facts.chat_template}) Fill<std::string>(*text);
    for (auto* const texts : {&facts.tokens, &facts.merges}) Fill<Texts>(*texts);
    for (auto* const ids : {&facts.types, &facts.more_ends}) Fill<std::vector<int32_t>>(*ids);
    Fill<std::vector<float>>(facts.scores);
    for (auto* const role : {&facts.bos, &facts.eos, &facts.unknown}) Fill<uint32_t>(*role);
    for (auto& end : facts.ends) Fill<uint32_t>(end);
    for (auto* const option : {&facts.add_bos, &facts.add_space_prefix}) Fill<bool>(*option);
    return facts;
  }
  ChatTemplateFacts ChatFacts() const {
    ChatTemplateFacts facts;
    Fill<std::string>(facts.source);
    return facts;
  }

 private:
  static LengthPrefixedStrings ViewOf(const Texts& texts) { return {texts.bytes, texts.count}; }
  template <typename T>
  static const T& ViewOf(const T& value) { return value; }

  // REQUIRES: the key, where set, has a value of type `Stored`.
  template <typename Stored, typename T>
  void Fill(FileFact<T>& fact) const {
    fact.place.file = kPath;
    const auto found = values_.find(std::string(fact.place.key));
    if (found == values_.end()) return;
    const Stored* const value = std::get_if<Stored>(&found->second);
    CHECK(value != nullptr) << fact.place.key << " has another type";
    fact.place.offset = kOffset;
    fact.value = ViewOf(*value);
  }

  std::map<std::string, Value> values_;
};

}  // namespace tessera
