#include "tessera/runtime/chat/saved_text.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tessera/base/length_prefixed_strings.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The first string names the kind of the others: role and content of each message of a dialogue, or one string with all tokens of a text.
constexpr absl::string_view kDialogue = "dialogue", kText = "text";

absl::Status Wrong(const std::string& path, const absl::AlphaNum& found, const absl::AlphaNum& expected) {
  return absl::DataLossError(absl::StrCat(path, ": notes: found ", found, ", expected ", expected));
}

absl::StatusOr<std::vector<std::string>> StringsOf(absl::string_view notes, const std::string& path) {
  std::vector<std::string> strings;
  while (!notes.empty()) {
    uint64_t length = 0;
    const size_t head = sizeof length;
    if (notes.size() >= head) std::memcpy(&length, notes.data(), head);
    if (notes.size() < head || length > notes.size() - head) {
      return Wrong(path, absl::StrCat(notes.size(), " bytes for string ", strings.size()), absl::StrCat(head, " and its length"));
    }
    strings.emplace_back(notes.data() + head, length);
    notes.remove_prefix(head + length);
  }
  return strings;
}

absl::StatusOr<std::vector<TokenId>> TokensOf(const std::string& bytes, const std::string& path, int vocabulary) {
  if (bytes.size() % sizeof(TokenId) != 0) return Wrong(path, absl::StrCat(bytes.size(), " bytes of tokens"), "a multiple of 4");
  std::vector<TokenId> tokens(bytes.size() / sizeof(TokenId));
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data(), bytes.size());
  for (const TokenId token : tokens) {
    if (token < 0 || token >= vocabulary) return Wrong(path, absl::StrCat("token ", token), absl::StrCat("0 to ", vocabulary - 1));
  }
  return tokens;
}

}  // namespace

std::string SavedText::Notes() const {
  std::string notes;
  AppendLengthPrefixed(is_dialogue ? kDialogue : kText, notes);
  for (const ChatMessage& message : messages) {
    AppendLengthPrefixed(message.role, notes);
    AppendLengthPrefixed(message.content, notes);
  }
  if (!is_dialogue) AppendLengthPrefixed({reinterpret_cast<const char*>(next.data()), next.size() * sizeof(TokenId)}, notes);
  return notes;
}

absl::StatusOr<SavedText> SavedText::Parse(absl::string_view notes, const std::string& path, int vocabulary) {
  if (notes.empty()) return SavedText();
  ASSIGN_OR_RETURN(const std::vector<std::string> strings, StringsOf(notes, path));
  SavedText text = {.is_dialogue = strings[0] == kDialogue};
  if (!text.is_dialogue && strings[0] != kText) return Wrong(path, Quoted(strings[0]), "\"text\" or \"dialogue\"");
  if (text.is_dialogue) {
    if (strings.size() % 2 == 0) return Wrong(path, absl::StrCat(strings.size() - 1, " strings of a dialogue"), "two for each message");
    for (size_t i = 1; i < strings.size(); i += 2) text.messages.push_back({.role = strings[i], .content = strings[i + 1]});
    return text;
  }
  if (strings.size() != 2) return Wrong(path, absl::StrCat(strings.size() - 1, " strings of a text"), "one");
  ASSIGN_OR_RETURN(text.next, TokensOf(strings[1], path, vocabulary));
  return text;
}

}  // namespace tessera
