#include "tessera/model/text/internal/byte_pair.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/byte_alphabet.h"
#include "tessera/model/text/internal/facts.h"
#include "tessera/model/text/internal/known_merges.h"
#include "tessera/model/text/internal/merge_table.h"
#include "tessera/model/text/internal/normal_form.h"
#include "tessera/model/text/internal/pair_merger.h"
#include "tessera/model/text/internal/pre_tokenizer.h"

namespace tessera {
namespace {

class BytePairSegmenter final : public Segmenter {
 public:
  BytePairSegmenter(const Vocabulary& vocabulary, const PreTokenizer& cutter) : vocabulary_(vocabulary), cutter_(cutter) {
    for (int byte = 0; byte < 256; ++byte) {
      characters_[byte] = ByteCharacter(static_cast<uint8_t>(byte));
      byte_tokens_[byte] = FindText(characters_[byte]).value_or(-1);
    }
  }

  absl::Status ReadMerges(const TokenizerFacts& facts);
  void Encode(absl::string_view text, bool starts_text, std::vector<TokenId>* tokens) const override;
  std::string Piece(TokenId token) const override { return BytesFromAlphabet(vocabulary_.text(token)); }
  int64_t lost_bytes() const override { return lost_bytes_; }
  bool adds_space_prefix() const override { return false; }
  bool adds_bos_by_default() const override { return cutter_.rule().adds_bos_by_default; }

 private:
  // Finds only tokens of plain text: merging never makes a control token.
  std::optional<TokenId> FindText(absl::string_view text) const {
    const std::optional<TokenId> id = vocabulary_.Find(text);
    return id.has_value() && vocabulary_.IsText(*id) ? id : std::nullopt;
  }
  TokenId FindJoined(absl::string_view left, absl::string_view right, TokenId next) const;  // -1: none.
  std::optional<PairMerge> FindMerge(absl::string_view text, const MergeSymbol& left, const MergeSymbol& right) const;
  void EncodeWord(absl::string_view word, const std::string& text, std::vector<MergeSymbol>& symbols, std::vector<TokenId>* tokens) const;

  const Vocabulary& vocabulary_;
  PreTokenizer cutter_;
  std::array<std::string, 256> characters_;
  std::array<TokenId, 256> byte_tokens_;                  // -1: no token.
  MergeTable merges_;
  mutable std::atomic<int64_t> lost_bytes_ = 0;
};

// Reads merges without a check that both texts are tokens: a text that is no token is never a symbol, and so never merges.
absl::Status BytePairSegmenter::ReadMerges(const TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(const LengthPrefixedStrings lines, Needed(facts.merges));
  std::vector<MergeTable::Merge> merges;
  merges.reserve(lines.size());
  TokenId joined = -1;
  for (const absl::string_view line : lines) {
    const size_t space = line.find(' ', 1);  // From 1: neither side is empty.
    const bool two = space != absl::string_view::npos && space + 1 < line.size();
    joined = two ? FindJoined(line.substr(0, space), line.substr(space + 1), joined + 1) : -1;
    if (joined < 0) {
      return WrongElement(facts.merges, static_cast<int64_t>(merges.size()),
                          absl::StrCat("found ", Quoted(line),
                                       ", expected two texts with a space between, whose joined text is a token"));
    }
    merges.push_back({vocabulary_.IsText(joined) ? joined : -1, static_cast<uint32_t>(space)});
  }
  merges_ = MergeTable(vocabulary_.size(), merges);
  return absl::OkStatus();
}

// Returns the joined token. Most tokens are numbered in the order of the merges that make them: then `next` is the right token.
TokenId BytePairSegmenter::FindJoined(absl::string_view left, absl::string_view right, TokenId next) const {
  if (vocabulary_.IsJoined(next, left, right)) return next;
  return vocabulary_.Find(absl::StrCat(left, right)).value_or(-1);
}

void BytePairSegmenter::Encode(absl::string_view text, bool /*starts_text*/, std::vector<TokenId>* tokens) const {
  std::string composed;
  if (cutter_.rule().normalizes) text = NormalFormC(text, composed);
  std::vector<absl::string_view> words;
  cutter_.Split(text, &words);
  std::vector<MergeSymbol> symbols;  // One for all words, like `spelled`: most words are short.
  std::string spelled;
  for (absl::string_view word : words) {
    spelled.clear();
    for (char byte : word) spelled += characters_[static_cast<uint8_t>(byte)];
    const std::optional<TokenId> known = cutter_.rule().keeps_known_words ? FindText(spelled) : std::nullopt;
    if (known.has_value()) {
      tokens->push_back(*known);
    } else {
      EncodeWord(word, spelled, symbols, tokens);
    }
  }
}

// `text`: the word in the vocabulary's spelling.
void BytePairSegmenter::EncodeWord(absl::string_view word, const std::string& text, std::vector<MergeSymbol>& symbols,
                                   std::vector<TokenId>* tokens) const {
  symbols.clear();
  uint32_t begin = 0;
  for (char byte : word) {
    const uint32_t size = static_cast<uint32_t>(characters_[static_cast<uint8_t>(byte)].size());
    symbols.push_back({begin, size, byte_tokens_[static_cast<uint8_t>(byte)]});
    begin += size;
  }
  MergePairs(symbols, [&](const MergeSymbol& left, const MergeSymbol& right) { return FindMerge(text, left, right); });
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    if (symbols[i].token >= 0) {
      tokens->push_back(symbols[i].token);
    } else {
      ++lost_bytes_;   // The vocabulary has no token for the byte.
    }
  }
}

std::optional<PairMerge> BytePairSegmenter::FindMerge(absl::string_view text, const MergeSymbol& left, const MergeSymbol& right) const {
  if (left.token < 0 || right.token < 0) return std::nullopt;
  const std::optional<TokenId> joined = vocabulary_.Find(text.substr(left.begin, left.size + right.size));
  if (!joined.has_value()) return std::nullopt;
  const std::optional<uint32_t> rank = merges_.RankOf(*joined, left.size);
  if (!rank.has_value()) return std::nullopt;
  return PairMerge{static_cast<double>(*rank), *joined};
}

// Returns the rule's name. Some converters wrote "default" for an unknown rule: known merges then tell more.
absl::StatusOr<absl::string_view> RuleName(const TokenizerFacts& facts) {
  RETURN_IF_ERROR(facts.pre_tokenizer.problem);
  const std::optional<absl::string_view>& name = facts.pre_tokenizer.value;
  if (name.has_value() && *name != "default") return *name;
  ASSIGN_OR_RETURN(const LengthPrefixedStrings merges, Needed(facts.merges));
  const absl::string_view known = RuleOfMerges(merges);
  if (!known.empty()) return known;
  if (name.has_value()) return *name;
  return MissingInFact(facts.pre_tokenizer.place,
                       absl::StrCat("found none, and these ", merges.size(), " merges are of no vocabulary that is known, expected the "
                                    "name of the rule that cuts words, one of ", WordRuleNames(),
                                    ". Convert the model again, or add the key, as llama.cpp's gguf_new_metadata.py does"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segmenter>> NewBytePairSegmenter(TokenizerFacts& facts, const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const absl::string_view name, RuleName(facts));
  const absl::StatusOr<PreTokenizer> cutter = PreTokenizer::ByName(name);
  if (!cutter.ok()) return WrongFact(facts.pre_tokenizer.place, cutter.status().message());
  auto segmenter = std::make_unique<BytePairSegmenter>(vocabulary, *cutter);
  RETURN_IF_ERROR(segmenter->ReadMerges(facts));
  return segmenter;
}

}  // namespace tessera
