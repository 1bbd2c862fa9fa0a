#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "tessera/model/text/internal/template_marks.h"
#include "tessera/model/text/internal/vocabulary.h"

namespace tessera {
namespace {

// Returns true for each token that merging makes: ordinary text, regardless of its look. Only texts with the first byte of a mark are
// checked.
std::vector<bool> MergedTokens(const TokenizerFacts& facts, const Vocabulary& vocabulary) {
  std::vector<bool> merged(vocabulary.size(), false);
  if (!facts.merges.value.has_value()) return merged;
  std::string joined;
  for (const absl::string_view line : *facts.merges.value) {
    if (line.empty() || (line[0] != '<' && line[0] != '[' && line[0] != '>')) continue;
    const size_t space = line.find(' ', 1);
    if (space == absl::string_view::npos) continue;
    joined.assign(line.data(), space);
    joined.append(line.data() + space + 1, line.size() - space - 1);
    const std::optional<TokenId> id = vocabulary.Find(joined);
    if (id.has_value()) merged[*id] = true;
  }
  return merged;
}

}  // namespace

// Returns true if the token is the mark, and not ordinary text that looks like the mark.
bool Vocabulary::IsProven(const KnownMark& mark, TokenId id) const {
  if (!mark.goes_on_beside.empty() && Find(mark.goes_on_beside).has_value()) return false;
  if (!mark.is_also_text || kind(id) == TokenKind::kControl) return true;
  if (mark.partner.empty()) return false;
  const std::optional<TokenId> partner = Find(mark.partner);
  return partner.has_value() && (kind(*partner) == TokenKind::kControl || partner == bos_);
}

// Retypes a token. Control tokens, the unknown token and bytes keep their type.
void Vocabulary::Retype(TokenId id, TokenKind to) {
  const bool is_normal = kind(id) == TokenKind::kNormal || kind(id) == TokenKind::kUnused;
  if ((!is_normal && kind(id) != TokenKind::kUserDefined) || text(id).size() > kMaxSpecialBytes) return;
  if (is_normal) retyped_.push_back(id);
  kinds_[id] = to;
}

void Vocabulary::SortEnds() {
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
}

// Returns the next token of a kind. A vocabulary has up to 262,144 tokens, most of one kind: the C library skips many at a time.
TokenId Vocabulary::NextOfKind(TokenKind kind, TokenId from) const {
  const void* const found = std::memchr(kinds_.data() + from, static_cast<int>(kind), static_cast<size_t>(size() - from));
  return found == nullptr ? size() : static_cast<TokenId>(static_cast<const TokenKind*>(found) - kinds_.data());
}

void Vocabulary::ReadMarks(const TokenizerFacts& facts) {
  const std::vector<bool> merged = MergedTokens(facts, *this);
  const auto retype = [&](TokenId id, TokenKind to) {
    if (!merged[id]) Retype(id, to);
  };
  for (const KnownMark& mark : KnownMarks()) {
    const std::optional<TokenId> id = Find(mark.text);
    if (!id.has_value() || kind(*id) == TokenKind::kByte || !IsProven(mark, *id)) continue;
    if (merged[*id] && kind(*id) != TokenKind::kControl) continue;
    retype(*id, mark.role == MarkRole::kOpens ? TokenKind::kMark : TokenKind::kControl);
    if (mark.role != MarkRole::kOpens) ends_.push_back(*id);
  }
  SortEnds();
  std::vector<TokenId> equal;
  for (TokenId id = 0; !texts_differ_ && id < size(); ++id) {  // Find returns the last of equal texts.
    const std::optional<TokenId> last = Find(text(id));
    if (last.has_value() && kind(id) == TokenKind::kControl && IsEnd(*last)) equal.push_back(id);
  }
  ends_.insert(ends_.end(), equal.begin(), equal.end());
  SortEnds();
  std::vector<TokenId> with_role = ends_;
  if (bos_.has_value()) with_role.push_back(*bos_);
  for (const TokenId id : with_role) {  // Unless the texts are words: some files end texts with a line break.
    if (HasBrackets(text(id))) retype(id, TokenKind::kControl);
  }
  const TemplateMarks written = FindTemplateMarks(facts.chat_template.value.value_or(""));
  for (const std::string& mark : written.texts) {
    if (const std::optional<TokenId> id = Find(mark); id.has_value()) retype(*id, TokenKind::kMark);
  }
  for (TokenId id = 0; written.composes_bars && id < size(); ++id) {
    if (kind(id) == TokenKind::kNormal && HasBars(text(id))) retype(id, TokenKind::kMark);
  }
  for (TokenId id = 0; (id = NextOfKind(TokenKind::kUserDefined, id)) < size(); ++id) {
    // User-defined tokens are found as a whole in all text, before merging. A mark among these tokens must not be found in a user's text.
    const bool is_mark = IsMarkByForm(text(id)) || (MayBeMark(text(id)) && absl::StrContains(written.written, text(id)));
    if (is_mark) Retype(id, TokenKind::kMark);
  }
  std::sort(retyped_.begin(), retyped_.end());
}

}  // namespace tessera
