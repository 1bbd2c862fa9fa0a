#include "tessera/model/text/tokenizer.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/byte_pair.h"
#include "tessera/model/text/internal/byte_tokens.h"
#include "tessera/model/text/internal/facts.h"
#include "tessera/model/text/internal/segmenter.h"
#include "tessera/model/text/internal/sentence_piece.h"
#include "tessera/model/text/internal/special_tokens.h"
#include "tessera/model/text/internal/vocabulary.h"

namespace tessera {
namespace {

struct Kind {
  absl::string_view model;
  void (*prepare)(TokenizerFacts& facts);  // Called before the vocabulary is read.
  absl::StatusOr<std::unique_ptr<Segmenter>> (*create)(TokenizerFacts& facts, const Vocabulary& vocabulary);
};
constexpr Kind kKinds[] = {
    {"gpt2", [](TokenizerFacts&) {}, NewBytePairSegmenter},
    {"llama", TypeByteTokens, NewSentencePieceSegmenter},
};

// A vocabulary, its special tokens, and a segmenter for the text between them.
class SegmentingTokenizer final : public Tokenizer {
 public:
  SegmentingTokenizer(std::unique_ptr<Vocabulary> vocabulary, std::unique_ptr<Segmenter> segmenter, bool adds_bos, std::string warning)
      : vocabulary_(std::move(vocabulary)), special_(*vocabulary_), segmenter_(std::move(segmenter)), adds_bos_(adds_bos),
        warning_(std::move(warning)) {}

  using Tokenizer::Encode;
  using Tokenizer::Piece;

  std::vector<TokenId> Encode(absl::string_view text, const EncodeOptions& options) const override {
    CHECK_LE(text.size(), kMaxTextBytes);
    std::vector<TokenId> tokens;
    const std::vector<TextFragment> fragments = special_.Split(text, options);
    const bool has_bos = !fragments.empty() && fragments[0].token.has_value() && fragments[0].token == vocabulary_->bos();
    if (options.add_bos && adds_bos_ && !has_bos) tokens.push_back(*vocabulary_->bos());
    bool starts_text = !options.continues;
    for (const TextFragment& fragment : fragments) {
      if (fragment.token.has_value()) {
        tokens.push_back(*fragment.token);
      } else {
        segmenter_->Encode(fragment.text, starts_text, &tokens);
      }
      starts_text = fragment.token.has_value();
    }
    return tokens;
  }

  std::string Piece(TokenId token, bool render_special) const override {
    if (!vocabulary_->Contains(token)) return "";
    if (vocabulary_->IsSpecial(token) && !render_special) return "";
    return IsVerbatim(token) ? std::string(vocabulary_->text(token)) : segmenter_->Piece(token);
  }

  int vocabulary_size() const override { return vocabulary_->size(); }
  std::optional<TokenId> bos() const override { return vocabulary_->bos(); }
  std::optional<TokenId> eos() const override { return vocabulary_->eos(); }
  bool adds_bos() const override { return adds_bos_; }
  bool adds_space_prefix() const override { return segmenter_->adds_space_prefix(); }
  // The unknown token represents a part of a text.
  bool BeginsTextBehind(TokenId token) const override {
    return vocabulary_->Contains(token) && token != vocabulary_->unknown() && IsVerbatim(token);
  }
  bool IsEnd(TokenId token) const override { return vocabulary_->IsEnd(token); }
  bool IsSpecial(TokenId token) const override { return vocabulary_->Contains(token) && vocabulary_->IsSpecial(token); }
  std::optional<TokenId> FindSpecial(absl::string_view text) const override {
    const std::optional<TokenId> id = vocabulary_->Find(text);
    return id.has_value() && vocabulary_->IsSpecial(*id) ? id : std::nullopt;
  }
  int64_t lost_bytes() const override { return segmenter_->lost_bytes(); }
  std::string warning() const override { return warning_; }

 private:
  // Returns true if Encode finds the token by its text before the rest is cut. REQUIRES: the vocabulary contains it.
  bool IsVerbatim(TokenId token) const {
    const TokenKind kind = vocabulary_->kind(token);
    return vocabulary_->IsSpecial(token) || kind == TokenKind::kUserDefined || kind == TokenKind::kMark;
  }

  std::unique_ptr<Vocabulary> vocabulary_;
  SpecialTokens special_;
  std::unique_ptr<Segmenter> segmenter_;
  bool adds_bos_;
  std::string warning_;
};

absl::StatusOr<const Kind*> KindOf(const TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(const absl::string_view model, Needed(facts.model));
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.model == model) return &kind;
    absl::StrAppend(&known, known.empty() ? "" : " or ", kind.model);
  }
  return WrongFact(facts.model.place, absl::StrCat("found ", Quoted(model), ", expected ", known));
}

// Returns true if texts begin with BOS. A file that asks for BOS must name the token.
absl::StatusOr<bool> AddsBos(const TokenizerFacts& facts, const Vocabulary& vocabulary, bool by_default) {
  ASSIGN_OR_RETURN(const bool asked, ValueOr(facts.add_bos, by_default));
  if (!asked || vocabulary.bos().has_value()) return asked;
  if (!facts.add_bos.value.has_value()) return false;
  return MissingInFact(facts.bos.place, absl::StrCat("found none, expected a token, since ", facts.add_bos.place.key, " is true"));
}

std::string WarningOf(const TokenizerFacts& facts, const Vocabulary& vocabulary) {
  constexpr size_t kMost = 4;
  const std::vector<TokenId>& marks = vocabulary.retyped();
  if (marks.empty()) return "";
  std::string names;
  for (size_t i = 0; i < std::min(marks.size(), kMost); ++i) absl::StrAppend(&names, i == 0 ? "" : ", ", Quoted(vocabulary.text(marks[i])));
  if (marks.size() > kMost) absl::StrAppend(&names, " and ", marks.size() - kMost, " more");
  const absl::Status wrong = WrongFact(facts.types.place, absl::StrCat("found the type of plain text for ", names,
                                                                       ", expected that of marks: each is read as one token"));
  return std::string(wrong.message());
}

}  // namespace

int64_t Tokenizer::LongestPiece() const {
  std::call_once(looked_for_longest_, [this] {
    for (TokenId token = 0; token < vocabulary_size(); ++token) {
      longest_ = std::max(longest_, static_cast<int64_t>(Piece(token, /*render_special=*/true).size()));
    }
  });
  return longest_;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Create(TokenizerFacts facts) {
  ASSIGN_OR_RETURN(const Kind* kind, KindOf(facts));
  kind->prepare(facts);
  ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::Create(facts));
  ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, kind->create(facts, *vocabulary));
  ASSIGN_OR_RETURN(const bool adds_bos, AddsBos(facts, *vocabulary, segmenter->adds_bos_by_default()));
  std::string warning = WarningOf(facts, *vocabulary);
  return std::make_unique<SegmentingTokenizer>(std::move(vocabulary), std::move(segmenter), adds_bos, std::move(warning));
}

}  // namespace tessera
