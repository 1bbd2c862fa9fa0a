#include "tessera/model/tokenizers/vocabulary.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr char kTokensKey[] = "tokenizer.ggml.tokens";
constexpr char kTypesKey[] = "tokenizer.ggml.token_type";

// Texts that end a text or a turn in the chat formats in use. Files forget to mark them as control tokens, so the text decides.
constexpr absl::string_view kEndTexts[] = {
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|end|>",
};

// Seeded by the process's addresses, so a file cannot choose texts that all fall on one slot.
uint32_t HashOf(absl::string_view text) { return static_cast<uint32_t>(absl::Hash<absl::string_view>()(text)); }

// The id that `key` names; nothing if the key is absent.
absl::StatusOr<std::optional<TokenId>> RoleId(const GgufFile& file, absl::string_view key, int vocabulary_size) {
  if (file.Find(key) == nullptr) return std::optional<TokenId>();
  ASSIGN_OR_RETURN(const uint64_t id, file.Uint(key));
  if (id >= static_cast<uint64_t>(vocabulary_size)) {
    return file.WrongValue(
        key, absl::StrCat("found ", id, ", expected an id below the ", vocabulary_size, " entries of ", kTokensKey));
  }
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Vocabulary>> Vocabulary::FromGguf(const GgufFile& file) {
  auto vocabulary = std::unique_ptr<Vocabulary>(new Vocabulary());
  RETURN_IF_ERROR(vocabulary->ReadTexts(file));
  RETURN_IF_ERROR(vocabulary->ReadKinds(file));
  RETURN_IF_ERROR(vocabulary->ReadRoles(file));
  return vocabulary;
}

absl::Status Vocabulary::ReadTexts(const GgufFile& file) {
  ASSIGN_OR_RETURN(const GgufStrings texts, file.Strings(kTokensKey));
  if (texts.size() == 0 || texts.size() > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    return file.WrongValue(kTokensKey, absl::StrCat("found ", texts.size(), " entries, expected 1 to 2^31 - 1"));
  }
  size_t bytes = 0;
  for (absl::string_view text : texts) bytes += text.size();  // Each lies in the file, apart from the others: no overflow.
  texts_.reserve(bytes);
  starts_.reserve(texts.size() + 1);
  for (absl::string_view text : texts) {
    starts_.push_back(texts_.size());
    texts_.append(text.data(), text.size());
  }
  starts_.push_back(texts_.size());
  kinds_.assign(texts.size(), TokenKind::kNormal);
  BuildIndex();
  return absl::OkStatus();
}

absl::Status Vocabulary::ReadKinds(const GgufFile& file) {
  if (file.Find(kTypesKey) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int32_t> types, file.Ints(kTypesKey));
  if (types.size() != kinds_.size()) {
    return file.WrongValue(
        kTypesKey, absl::StrCat("found ", types.size(), " entries, expected ", kinds_.size(), ", as many as ", kTokensKey));
  }
  for (size_t id = 0; id < types.size(); ++id) {
    if (types[id] < 0 || types[id] > static_cast<int>(TokenKind::kByte)) {
      return file.WrongValue(kTypesKey, absl::StrCat("found ", types[id], ", expected 0 to 6"), static_cast<int64_t>(id));
    }
    kinds_[id] = types[id] == 0 ? TokenKind::kNormal : static_cast<TokenKind>(types[id]);  // 0: not said.
    const bool special = IsSpecial(static_cast<TokenId>(id)) || kinds_[id] == TokenKind::kUserDefined;
    const size_t bytes = starts_[id + 1] - starts_[id];
    if (special && bytes > kMaxSpecialBytes) {
      return file.WrongValue(
          kTokensKey,
          absl::StrCat("found ", bytes, " bytes, expected at most ", kMaxSpecialBytes, " of a token of type ", types[id]),
          static_cast<int64_t>(id));
    }
  }
  return absl::OkStatus();
}

absl::Status Vocabulary::ReadRoles(const GgufFile& file) {
  for (absl::string_view text : kEndTexts) {
    const std::optional<TokenId> id = Find(text);
    if (!id.has_value() || kind(*id) == TokenKind::kByte) continue;
    kinds_[*id] = TokenKind::kControl;
    ends_.push_back(*id);
  }
  ASSIGN_OR_RETURN(bos_, RoleId(file, "tokenizer.ggml.bos_token_id", size()));
  ASSIGN_OR_RETURN(eos_, RoleId(file, "tokenizer.ggml.eos_token_id", size()));
  ASSIGN_OR_RETURN(unknown_, RoleId(file, "tokenizer.ggml.unknown_token_id", size()));
  ASSIGN_OR_RETURN(const std::optional<TokenId> turn_end, RoleId(file, "tokenizer.ggml.eot_token_id", size()));
  ASSIGN_OR_RETURN(const std::optional<TokenId> message_end, RoleId(file, "tokenizer.ggml.eom_token_id", size()));
  ASSIGN_OR_RETURN(const absl::string_view model, file.String("tokenizer.ggml.model"));
  if (model == "llama") {  // Where SentencePiece puts them unless told otherwise.
    if (!bos_.has_value()) bos_ = ControlAt(1);
    if (!eos_.has_value()) eos_ = ControlAt(2);
  }
  if (!unknown_.has_value()) {
    const auto found = std::find(kinds_.begin(), kinds_.end(), TokenKind::kUnknown);
    if (found != kinds_.end()) unknown_ = static_cast<TokenId>(found - kinds_.begin());
  }
  for (const std::optional<TokenId>& end : {eos_, turn_end, message_end}) {
    if (end.has_value()) ends_.push_back(*end);
  }
  return absl::OkStatus();
}

std::optional<TokenId> Vocabulary::ControlAt(TokenId id) const {
  if (!Contains(id) || kind(id) != TokenKind::kControl) return std::nullopt;
  return id;
}

void Vocabulary::BuildIndex() {
  slots_.resize(std::bit_ceil(kinds_.size()) * 2);
  for (TokenId id = 0; id < size(); ++id) {
    if (text(id).empty()) continue;
    const uint32_t hash = HashOf(text(id));
    slots_[SlotOf(text(id), hash)] = {hash, id};
  }
}

size_t Vocabulary::SlotOf(absl::string_view wanted, uint32_t hash) const {
  size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot].id >= 0 && (slots_[slot].hash != hash || text(slots_[slot].id) != wanted)) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

std::optional<TokenId> Vocabulary::Find(absl::string_view text) const {
  const Slot& slot = slots_[SlotOf(text, HashOf(text))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

bool Vocabulary::IsEnd(TokenId id) const { return std::find(ends_.begin(), ends_.end(), id) != ends_.end(); }

}  // namespace tessera
