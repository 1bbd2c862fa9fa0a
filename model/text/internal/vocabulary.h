// The entries of a model's vocabulary, as a model file lists the entries: texts, kinds, ids with a role, and the map from text to id.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::Create(facts));
//   std::optional<TokenId> id = vocabulary->Find("hello");
//   if (id.has_value() && vocabulary->IsText(*id)) Use(vocabulary->text(*id));
//
// Texts are copied, so the file may be closed. If entries have equal texts, Find returns the last; empty texts are never found. Errors:
// InvalidArgument or NotFound with file, key, offset, the value found and the value expected. Threads: thread-safe after Create.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/token.h"
#include "tessera/model/text/internal/known_marks.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// The numbers of TokenizerFacts::types, and one that no file has: chat templates write a mark, but a mark is shown as text. In users' text,
// a mark is no token.
enum class TokenKind : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6, kMark = 7 };

class Vocabulary {
 public:
  // Maximum bytes of a control, unknown or user-defined token's text: the search for such tokens costs up to this number per byte of a
  // text. The longest such texts in use are runs of about a hundred spaces.
  static constexpr size_t kMaxSpecialBytes = 1024;

  static absl::StatusOr<std::unique_ptr<Vocabulary>> Create(const TokenizerFacts& facts);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  int size() const { return static_cast<int>(kinds_.size()); }
  bool Contains(TokenId id) const { return id >= 0 && id < size(); }
  std::optional<TokenId> Find(absl::string_view text) const;
  // Returns true if Find(left + right) would return `id`, as far as known without a search.
  bool IsJoined(TokenId id, absl::string_view left, absl::string_view right) const;

  // REQUIRES (for the next four functions): Contains(id).
  absl::string_view text(TokenId id) const {
    return {texts_.data() + starts_[id], starts_[id + 1] - starts_[id]};
  }
  TokenKind kind(TokenId id) const { return kinds_[id]; }
  bool IsSpecial(TokenId id) const { return kinds_[id] == TokenKind::kControl || kinds_[id] == TokenKind::kUnknown; }
  bool IsText(TokenId id) const { return !IsSpecial(id) && kinds_[id] != TokenKind::kByte && kinds_[id] != TokenKind::kMark; }

  // Each is absent, or inside the vocabulary.
  std::optional<TokenId> bos() const { return bos_; }
  std::optional<TokenId> eos() const { return eos_; }
  std::optional<TokenId> unknown() const { return unknown_; }
  bool IsEnd(TokenId id) const { return std::binary_search(ends_.begin(), ends_.end(), id); }
  // Returns marks that the file types as ordinary text, but that are control tokens or marks here. In order of ids.
  const std::vector<TokenId>& retyped() const { return retyped_; }

 private:
  Vocabulary() = default;
  absl::Status ReadTexts(const TokenizerFacts& facts);
  absl::Status ReadKinds(const TokenizerFacts& facts);
  absl::Status ReadRoles(const TokenizerFacts& facts);
  absl::Status ReadEnds(const TokenizerFacts& facts);
  // Defined in vocabulary_marks.cc.
  void ReadMarks(const TokenizerFacts& facts);
  bool IsProven(const KnownMark& mark, TokenId id) const;
  void Retype(TokenId id, TokenKind to);
  void SortEnds();
  TokenId NextOfKind(TokenKind kind, TokenId from) const;  // size(): none.
  absl::Status BuildIndex();
  size_t FirstSlot(uint64_t hash) const { return hash & (slots_.size() - 1); }
  size_t SlotOf(absl::string_view text, uint64_t hash) const;  // The slot of the text, or the free slot for it.
  uint32_t TagOf(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) & ~id_mask_; }
  TokenId IdIn(uint32_t slot) const { return static_cast<TokenId>(slot & id_mask_) - 1; }
  std::optional<TokenId> ControlAt(TokenId id) const;  // Returns the id if the vocabulary has a control token there.

  std::vector<char> texts_;       // All texts, one after the other, and space for a copy of fixed size.
  std::vector<uint32_t> starts_;  // Start of each text, and the end of the last.
  std::vector<TokenKind> kinds_;
  // From text to id: open addressing with linear probing, a power of two of slots, at most half of them taken. A slot holds an id plus 1 in
  // the low bits, and a part of the hash, the tag, in all other bits; a free slot is 0. A general hash map takes three times as much
  // memory, and indexing 262,144 texts mostly waits for memory.
  AlignedBuffer slots_memory_;  // On large pages if the memory fills one: each small page costs a page fault.
  absl::Span<uint32_t> slots_;
  uint32_t id_mask_ = 0;
  bool texts_differ_ = true;    // No two texts are equal.
  std::optional<TokenId> bos_, eos_, unknown_;
  std::vector<TokenId> ends_;  // Each id once, in order.
  std::vector<TokenId> retyped_;
};

}  // namespace tessera
