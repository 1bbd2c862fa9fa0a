#include "tessera/model/text/internal/sentence_piece.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/byte_tokens.h"
#include "tessera/model/text/internal/facts.h"
#include "tessera/model/text/internal/pair_merger.h"
#include "tessera/model/text/internal/utf8.h"

namespace tessera {
namespace {

constexpr absl::string_view kSpace = "\xE2\x96\x81";  // U+2581

class SentencePieceSegmenter final : public Segmenter {
 public:
  explicit SentencePieceSegmenter(const Vocabulary& vocabulary) : vocabulary_(vocabulary) { byte_tokens_.fill(-1); }

  absl::Status Read(TokenizerFacts& facts);
  void Encode(absl::string_view text, bool starts_text, std::vector<TokenId>* tokens) const override;
  std::string Piece(TokenId token) const override;
  bool adds_space_prefix() const override { return adds_space_prefix_; }
  bool adds_bos_by_default() const override { return true; }

 private:
  absl::Status ReadScores(TokenizerFacts& facts);
  absl::Status ReadBytes(const TokenizerFacts& facts);
  std::optional<PairMerge> FindMerge(absl::string_view joined) const;
  void AppendSymbol(absl::string_view text, TokenId token, std::vector<TokenId>* tokens) const;

  const Vocabulary& vocabulary_;
  std::vector<float> scores_;
  std::array<TokenId, 256> byte_tokens_;  // -1: the unknown token is used.
  size_t longest_ = 0;                    // Bytes of the longest text.
  bool adds_space_prefix_ = true;
};

absl::Status SentencePieceSegmenter::Read(TokenizerFacts& facts) {
  RETURN_IF_ERROR(ReadScores(facts));
  RETURN_IF_ERROR(ReadBytes(facts));
  ASSIGN_OR_RETURN(adds_space_prefix_, ValueOr(facts.add_space_prefix, true));
  return absl::OkStatus();
}

absl::Status SentencePieceSegmenter::ReadScores(TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(scores_, TakeNeeded(facts.scores));
  if (scores_.size() != static_cast<size_t>(vocabulary_.size())) {
    return WrongFact(facts.scores.place, absl::StrCat("found ", scores_.size(), " entries, expected ", vocabulary_.size(),
                                                      ", as many as ", facts.tokens.place.key));
  }
  for (size_t id = 0; id < scores_.size(); ++id) {
    if (std::isnan(scores_[id])) return WrongElement(facts.scores, static_cast<int64_t>(id), "found NaN, expected a number");
  }
  return absl::OkStatus();
}

absl::Status SentencePieceSegmenter::ReadBytes(const TokenizerFacts& facts) {
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    longest_ = std::max(longest_, vocabulary_.text(id).size());
    if (vocabulary_.kind(id) != TokenKind::kByte) continue;
    const int byte = ByteOf(vocabulary_.text(id));
    if (byte < 0) {
      const std::string found = Quoted(vocabulary_.text(id));
      return WrongElement(facts.tokens, id,
                          absl::StrCat("found ", found, ", expected <0x00> to <0xFF>, since token_type says it is a byte"));
    }
    byte_tokens_[byte] = id;
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (byte_tokens_[byte] >= 0 || vocabulary_.unknown().has_value()) continue;
    return MissingInFact(facts.tokens.place, absl::StrCat(absl::StrFormat("found no <0x%02X>", byte),
                                                              ", expected a token for each byte, or an unknown token"));
  }
  return absl::OkStatus();
}

void SentencePieceSegmenter::Encode(absl::string_view text, bool starts_text, std::vector<TokenId>* tokens) const {
  std::string spelled = starts_text && adds_space_prefix_ ? std::string(kSpace) : std::string();
  absl::StrAppend(&spelled, absl::StrReplaceAll(text, {{" ", kSpace}}));
  const absl::string_view view = spelled;
  std::vector<MergeSymbol> symbols;
  symbols.reserve(view.size());
  for (uint32_t begin = 0; begin < view.size();) {
    // A byte that is not UTF-8 is no token and becomes byte tokens.
    const uint32_t size = static_cast<uint32_t>(ReadUtf8(view.substr(begin)).size);
    symbols.push_back({begin, size});
    begin += size;
  }
  if (symbols.empty()) return;
  MergePairs(symbols, [&](const MergeSymbol& left, const MergeSymbol& right) {
    return FindMerge(view.substr(left.begin, left.size + right.size));
  });
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    AppendSymbol(view.substr(symbols[i].begin, symbols[i].size), symbols[i].token, tokens);
  }
}

std::optional<PairMerge> SentencePieceSegmenter::FindMerge(absl::string_view joined) const {
  if (joined.size() > longest_) return std::nullopt;
  const std::optional<TokenId> token = vocabulary_.Find(joined);
  if (!token.has_value() || !vocabulary_.IsText(*token)) return std::nullopt;  // Merging never makes a control token.
  return PairMerge{-static_cast<double>(scores_[*token]), *token};
}

void SentencePieceSegmenter::AppendSymbol(absl::string_view text, TokenId token, std::vector<TokenId>* tokens) const {
  if (token < 0) {
    const std::optional<TokenId> single = vocabulary_.Find(text);
    if (single.has_value() && vocabulary_.IsText(*single)) token = *single;
  }
  if (token >= 0) {
    tokens->push_back(token);
    return;
  }
  for (char byte : text) {
    const TokenId fallback = byte_tokens_[static_cast<uint8_t>(byte)];
    tokens->push_back(fallback >= 0 ? fallback : *vocabulary_.unknown());
  }
}

std::string SentencePieceSegmenter::Piece(TokenId token) const {
  const absl::string_view text = vocabulary_.text(token);
  if (vocabulary_.kind(token) == TokenKind::kByte) return std::string(1, static_cast<char>(ByteOf(text)));
  return absl::StrReplaceAll(text, {{kSpace, " "}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segmenter>> NewSentencePieceSegmenter(TokenizerFacts& facts, const Vocabulary& vocabulary) {
  auto segmenter = std::make_unique<SentencePieceSegmenter>(vocabulary);
  RETURN_IF_ERROR(segmenter->Read(facts));
  return segmenter;
}

}  // namespace tessera
