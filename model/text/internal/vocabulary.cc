#include "tessera/model/text/internal/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/facts.h"

namespace tessera {
namespace {

// Seeded by the process's addresses, so a file cannot choose texts that all fall on one slot.
uint64_t HashOf(absl::string_view text) { return absl::Hash<absl::string_view>()(text); }

constexpr size_t kShortText = 16;  // Most texts are at most this long: a copy of fixed size is much faster than a call.
constexpr size_t kAtOnce = 32;     // Texts whose memory is prefetched before the first of them is compared.

// Returns the id with the role, if the file names one.
absl::StatusOr<std::optional<TokenId>> RoleId(const FileFact<uint64_t>& role, const TokenizerFacts& facts) {
  RETURN_IF_ERROR(role.problem);
  if (!role.value.has_value()) return std::optional<TokenId>();
  const uint64_t id = *role.value, size = facts.tokens.value->size();
  if (id >= size) {
    return WrongFact(role.place, absl::StrCat("found ", id, ", expected an id below the ", size, " entries of ", facts.tokens.place.key));
  }
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Vocabulary>> Vocabulary::Create(const TokenizerFacts& facts) {
  auto vocabulary = std::unique_ptr<Vocabulary>(new Vocabulary());
  RETURN_IF_ERROR(vocabulary->ReadTexts(facts));
  RETURN_IF_ERROR(vocabulary->ReadKinds(facts));
  RETURN_IF_ERROR(vocabulary->ReadRoles(facts));
  RETURN_IF_ERROR(vocabulary->ReadEnds(facts));
  vocabulary->ReadMarks(facts);
  return vocabulary;
}

absl::Status Vocabulary::ReadTexts(const TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(const LengthPrefixedStrings texts, Needed(facts.tokens));
  if (texts.size() == 0 || texts.size() > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    return WrongFact(facts.tokens.place, absl::StrCat("found ", texts.size(), " entries, expected 1 to 2^31 - 1"));
  }
  const absl::string_view array = texts.bytes();
  const char* const array_end = array.data() + array.size();
  texts_.resize(array.size() - texts.size() * sizeof(uint64_t) + kShortText);  // The array has a length in front of each text.
  starts_.reserve(texts.size() + 1);
  uint32_t begin = 0;  // All texts are part of a header, which ends far before 2^32.
  for (absl::string_view text : texts) {
    starts_.push_back(begin);
    const bool in_one = text.size() <= kShortText && array_end - text.data() >= static_cast<ptrdiff_t>(kShortText);
    char* const copy = texts_.data() + begin;
    if (in_one) std::memcpy(copy, text.data(), kShortText);
    else std::memcpy(copy, text.data(), text.size());
    begin += static_cast<uint32_t>(text.size());
  }
  starts_.push_back(begin);
  kinds_.assign(texts.size(), TokenKind::kNormal);
  return BuildIndex();
}

absl::Status Vocabulary::ReadKinds(const TokenizerFacts& facts) {
  RETURN_IF_ERROR(facts.types.problem);
  if (!facts.types.value.has_value()) return absl::OkStatus();
  const std::vector<int32_t>& types = *facts.types.value;
  if (types.size() != kinds_.size()) {
    return WrongFact(facts.types.place, absl::StrCat("found ", types.size(), " entries, expected ", kinds_.size(), ", as many as ",
                                                     facts.tokens.place.key));
  }
  for (size_t id = 0; id < types.size(); ++id) {
    if (types[id] < 0 || types[id] > static_cast<int>(TokenKind::kByte)) {
      return WrongElement(facts.types, static_cast<int64_t>(id), absl::StrCat("found ", types[id], ", expected 0 to 6"));
    }
    kinds_[id] = types[id] == 0 ? TokenKind::kNormal : static_cast<TokenKind>(types[id]);  // 0: the file does not say.
    const bool special = IsSpecial(static_cast<TokenId>(id)) || kinds_[id] == TokenKind::kUserDefined;
    const size_t bytes = starts_[id + 1] - starts_[id];
    if (special && bytes > kMaxSpecialBytes) {
      return WrongElement(
          facts.tokens, static_cast<int64_t>(id),
          absl::StrCat("found ", bytes, " bytes, expected at most ", kMaxSpecialBytes, " of a token of type ", types[id]));
    }
  }
  return absl::OkStatus();
}

absl::Status Vocabulary::ReadRoles(const TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(bos_, RoleId(facts.bos, facts));
  ASSIGN_OR_RETURN(eos_, RoleId(facts.eos, facts));
  ASSIGN_OR_RETURN(unknown_, RoleId(facts.unknown, facts));
  ASSIGN_OR_RETURN(const absl::string_view model, Needed(facts.model));
  if (model == "llama") {  // SentencePiece's defaults.
    if (!bos_.has_value()) bos_ = ControlAt(1);
    if (!eos_.has_value()) eos_ = ControlAt(2);
  }
  if (!unknown_.has_value()) {
    const auto found = std::find(kinds_.begin(), kinds_.end(), TokenKind::kUnknown);
    if (found != kinds_.end()) unknown_ = static_cast<TokenId>(found - kinds_.begin());
  }
  return absl::OkStatus();
}

// Reads the ends. A file that names tokens knows its model, so the tokens' texts do not matter.
absl::Status Vocabulary::ReadEnds(const TokenizerFacts& facts) {
  if (eos_.has_value()) ends_.push_back(*eos_);
  for (const FileFact<uint64_t>& role : facts.ends) {
    ASSIGN_OR_RETURN(const std::optional<TokenId> end, RoleId(role, facts));
    if (end.has_value()) ends_.push_back(*end);
  }
  ASSIGN_OR_RETURN(const std::vector<int32_t> more, ValueOr(facts.more_ends, std::vector<int32_t>()));
  for (size_t i = 0; i < more.size(); ++i) {
    if (Contains(more[i])) ends_.push_back(more[i]);
    else return WrongElement(facts.more_ends, static_cast<int64_t>(i), absl::StrCat("found ", more[i], ", expected 0 to ", size() - 1));
  }
  SortEnds();
  return absl::OkStatus();
}

std::optional<TokenId> Vocabulary::ControlAt(TokenId id) const {
  if (!Contains(id) || kind(id) != TokenKind::kControl) return std::nullopt;
  return id;
}

absl::Status Vocabulary::BuildIndex() {
  const size_t slots = std::bit_ceil(kinds_.size()) * 2;
  ASSIGN_OR_RETURN(slots_memory_, AlignedBuffer::Allocate(slots * sizeof(uint32_t), AlignedBuffer::Pages::kLarge, "vocabulary"));
  slots_ = {slots_memory_.as<uint32_t>(), slots};
  // The slots are free already. But if memory is first read and then written, the system interrupts all other threads, once per page.
  std::fill(slots_.begin(), slots_.end(), 0);
  id_mask_ = static_cast<uint32_t>(std::bit_ceil(kinds_.size() + 1) - 1);
  std::array<uint64_t, kAtOnce> hashes;
  for (TokenId begin = 0; begin < size(); begin += kAtOnce) {
    const TokenId end = std::min(begin + static_cast<TokenId>(kAtOnce), size());
    for (TokenId id = begin; id < end; ++id) {
      hashes[id - begin] = HashOf(text(id));
      __builtin_prefetch(&slots_[FirstSlot(hashes[id - begin])], 1);
    }
    for (TokenId id = begin; id < end; ++id) {
      if (text(id).empty()) continue;
      const uint64_t hash = hashes[id - begin];
      uint32_t& slot = slots_[SlotOf(text(id), hash)];
      if (slot != 0) texts_differ_ = false;
      slot = TagOf(hash) | static_cast<uint32_t>(id + 1);
    }
  }
  return absl::OkStatus();
}

size_t Vocabulary::SlotOf(absl::string_view wanted, uint64_t hash) const {
  const uint32_t tag = TagOf(hash);
  size_t slot = FirstSlot(hash);
  while (slots_[slot] != 0 && ((slots_[slot] & ~id_mask_) != tag || text(IdIn(slots_[slot])) != wanted)) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

std::optional<TokenId> Vocabulary::Find(absl::string_view text) const {
  const TokenId id = IdIn(slots_[SlotOf(text, HashOf(text))]);
  return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}

bool Vocabulary::IsJoined(TokenId id, absl::string_view left, absl::string_view right) const {
  if (!texts_differ_ || !Contains(id)) return false;
  const absl::string_view joined = text(id);
  return joined.size() == left.size() + right.size() && absl::StartsWith(joined, left) && absl::EndsWith(joined, right);
}

}  // namespace tessera
