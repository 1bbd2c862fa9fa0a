#include "tessera/model/text/tokenizer.h"

#include <glog/logging.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/byte_pair.h"
#include "tessera/model/text/internal/segmenter.h"
#include "tessera/model/text/internal/sentence_piece.h"
#include "tessera/model/text/internal/special_tokens.h"
#include "tessera/model/text/internal/vocabulary.h"

namespace tessera {
namespace {

constexpr char kModelKey[] = "tokenizer.ggml.model";
constexpr char kAddBosKey[] = "tokenizer.ggml.add_bos_token";

struct Kind {
  absl::string_view model;
  absl::StatusOr<std::unique_ptr<Segmenter>> (*create)(const GgufFile& file, const Vocabulary& vocabulary);
};
constexpr Kind kKinds[] = {
    {"gpt2", NewBytePairSegmenter},
    {"llama", NewSentencePieceSegmenter},
};

// A vocabulary, its special tokens, and a segmenter for the text between them.
class SegmentingTokenizer final : public Tokenizer {
 public:
  SegmentingTokenizer(std::unique_ptr<Vocabulary> vocabulary, std::unique_ptr<Segmenter> segmenter, bool adds_bos)
      : vocabulary_(std::move(vocabulary)), special_(*vocabulary_), segmenter_(std::move(segmenter)), adds_bos_(adds_bos) {}

  using Tokenizer::Encode;
  using Tokenizer::Piece;

  std::vector<TokenId> Encode(absl::string_view text, const EncodeOptions& options) const override {
    CHECK_LE(text.size(), kMaxTextBytes);
    std::vector<TokenId> tokens;
    if (options.add_bos && adds_bos_) tokens.push_back(*vocabulary_->bos());
    bool starts_text = true;
    for (const TextFragment& fragment : special_.Split(text, options)) {
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
    const bool verbatim = vocabulary_->IsSpecial(token) || vocabulary_->kind(token) == TokenKind::kUserDefined;
    return verbatim ? std::string(vocabulary_->text(token)) : segmenter_->Piece(token);
  }

  int vocabulary_size() const override { return vocabulary_->size(); }
  std::optional<TokenId> bos() const override { return vocabulary_->bos(); }
  std::optional<TokenId> eos() const override { return vocabulary_->eos(); }
  bool adds_bos() const override { return adds_bos_; }
  bool adds_space_prefix() const override { return segmenter_->adds_space_prefix(); }
  bool IsEnd(TokenId token) const override { return vocabulary_->IsEnd(token); }
  bool IsSpecial(TokenId token) const override { return vocabulary_->Contains(token) && vocabulary_->IsSpecial(token); }

 private:
  std::unique_ptr<Vocabulary> vocabulary_;
  SpecialTokens special_;
  std::unique_ptr<Segmenter> segmenter_;
  bool adds_bos_;
};

absl::StatusOr<const Kind*> KindOf(const GgufFile& file) {
  ASSIGN_OR_RETURN(const absl::string_view model, file.String(kModelKey));
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.model == model) return &kind;
    absl::StrAppend(&known, known.empty() ? "" : " or ", kind.model);
  }
  return file.WrongValue(kModelKey, absl::StrCat("found ", Quoted(model), ", expected ", known));
}

// Whether texts begin with BOS. A file that asks for it must say which token it is.
absl::StatusOr<bool> AddsBos(const GgufFile& file, const Vocabulary& vocabulary, bool by_default) {
  ASSIGN_OR_RETURN(const bool asked, file.BoolOr(kAddBosKey, by_default));
  if (!asked || vocabulary.bos().has_value()) return asked;
  if (file.Find(kAddBosKey) == nullptr) return false;
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tokenizer.ggml.bos_token_id: found none, expected a token, since ",
                                                 kAddBosKey, " is true"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromGguf(const GgufFile& file) {
  ASSIGN_OR_RETURN(const Kind* kind, KindOf(file));
  ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::FromGguf(file));
  ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, kind->create(file, *vocabulary));
  ASSIGN_OR_RETURN(const bool adds_bos, AddsBos(file, *vocabulary, segmenter->adds_bos_by_default()));
  return std::make_unique<SegmentingTokenizer>(std::move(vocabulary), std::move(segmenter), adds_bos);
}

}  // namespace tessera
