#include "tessera/model/tokenizers/byte_pair.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/quoted.h"
#include "tessera/model/tokenizers/byte_alphabet.h"
#include "tessera/model/tokenizers/pair_merger.h"
#include "tessera/model/tokenizers/pre_tokenizer.h"

namespace tessera {
namespace {

constexpr char kMergesKey[] = "tokenizer.ggml.merges";
constexpr char kPreKey[] = "tokenizer.ggml.pre";

uint64_t PairKey(TokenId left, TokenId right) { return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right); }

class BytePairSegmenter final : public Segmenter {
 public:
  BytePairSegmenter(const Vocabulary& vocabulary, std::unique_ptr<PreTokenizer> cutter)
      : vocabulary_(vocabulary), cutter_(std::move(cutter)) {
    for (int byte = 0; byte < 256; ++byte) {
      characters_[byte] = ByteCharacter(static_cast<uint8_t>(byte));
      byte_tokens_[byte] = FindText(characters_[byte]).value_or(-1);
    }
  }

  absl::Status ReadMerges(const GgufFile& file);
  void Encode(absl::string_view text, bool starts_text, std::vector<TokenId>* tokens) const override;
  std::string Piece(TokenId token) const override { return BytesFromAlphabet(vocabulary_.text(token)); }
  bool adds_space_prefix() const override { return false; }
  bool adds_bos_by_default() const override { return cutter_->adds_bos_by_default(); }

 private:
  // Only what plain text may become: merging never makes a control token.
  std::optional<TokenId> FindText(absl::string_view text) const {
    const std::optional<TokenId> id = vocabulary_.Find(text);
    return id.has_value() && vocabulary_.IsText(*id) ? id : std::nullopt;
  }
  std::optional<TokenId> FindWord(absl::string_view word) const;
  void EncodeWord(absl::string_view word, std::vector<MergeSymbol>& symbols, std::vector<TokenId>* tokens) const;

  const Vocabulary& vocabulary_;
  std::unique_ptr<PreTokenizer> cutter_;
  std::array<std::string, 256> characters_;
  std::array<TokenId, 256> byte_tokens_;                  // -1: the vocabulary has none.
  absl::flat_hash_map<uint64_t, PairMerge> merges_;       // PairKey -> rank and result.
};

absl::Status BytePairSegmenter::ReadMerges(const GgufFile& file) {
  ASSIGN_OR_RETURN(const GgufStrings merges, file.Strings(kMergesKey));
  merges_.reserve(std::min<uint64_t>(merges.size(), vocabulary_.size()));
  std::string joined;
  int64_t rank = -1;
  for (const absl::string_view merge : merges) {
    ++rank;
    const size_t space = merge.find(' ', 1);  // From 1: neither side is empty.
    const bool two = space != absl::string_view::npos && space + 1 < merge.size();
    const absl::string_view left = merge.substr(0, space), right = two ? merge.substr(space + 1) : "";
    joined.assign(left.data(), left.size()).append(right.data(), right.size());
    const std::optional<TokenId> a = vocabulary_.Find(left), b = vocabulary_.Find(right), both = vocabulary_.Find(joined);
    if (!two || !a.has_value() || !b.has_value() || !both.has_value()) {
      const std::string found = Quoted(merge);
      return file.WrongValue(
          kMergesKey, absl::StrCat("found ", found, ", expected two tokens with a space between, whose joined text is a token"), rank);
    }
    if (!vocabulary_.IsText(*both)) continue;
    merges_.try_emplace(PairKey(*a, *b), PairMerge{static_cast<double>(rank), *both});  // Given twice: the first counts.
  }
  return absl::OkStatus();
}

void BytePairSegmenter::Encode(absl::string_view text, bool /*starts_text*/, std::vector<TokenId>* tokens) const {
  std::vector<absl::string_view> words;
  cutter_->Split(text, &words);
  std::vector<MergeSymbol> symbols;  // One for all words: most are short.
  for (absl::string_view word : words) {
    const std::optional<TokenId> known = cutter_->keeps_known_words() ? FindWord(word) : std::nullopt;
    if (known.has_value()) {
      tokens->push_back(*known);
    } else {
      EncodeWord(word, symbols, tokens);
    }
  }
}

std::optional<TokenId> BytePairSegmenter::FindWord(absl::string_view word) const {
  std::string text;
  for (char byte : word) text += characters_[static_cast<uint8_t>(byte)];
  return FindText(text);
}

void BytePairSegmenter::EncodeWord(absl::string_view word, std::vector<MergeSymbol>& symbols, std::vector<TokenId>* tokens) const {
  symbols.clear();
  for (uint32_t i = 0; i < word.size(); ++i) symbols.push_back({i, 1, byte_tokens_[static_cast<uint8_t>(word[i])]});
  MergePairs(symbols, [this](const MergeSymbol& left, const MergeSymbol& right) -> std::optional<PairMerge> {
    const auto merge = merges_.find(PairKey(left.token, right.token));
    if (merge == merges_.end()) return std::nullopt;
    return merge->second;
  });
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    if (symbols[i].token >= 0) tokens->push_back(symbols[i].token);  // Else a byte that this vocabulary cannot say.
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segmenter>> NewBytePairSegmenter(const GgufFile& file, const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const absl::string_view name, file.StringOr(kPreKey, "default"));
  absl::StatusOr<std::unique_ptr<PreTokenizer>> cutter = PreTokenizer::ByName(name);
  if (!cutter.ok()) return file.WrongValue(kPreKey, cutter.status().message());
  auto segmenter = std::make_unique<BytePairSegmenter>(vocabulary, *std::move(cutter));
  RETURN_IF_ERROR(segmenter->ReadMerges(file));
  return segmenter;
}

}  // namespace tessera
