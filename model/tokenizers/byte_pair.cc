#include "tessera/model/tokenizers/byte_pair.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/quoted.h"
#include "tessera/model/tokenizers/byte_alphabet.h"
#include "tessera/model/tokenizers/merge_table.h"
#include "tessera/model/tokenizers/pair_merger.h"
#include "tessera/model/tokenizers/pre_tokenizer.h"

namespace tessera {
namespace {

constexpr char kMergesKey[] = "tokenizer.ggml.merges";
constexpr char kPreKey[] = "tokenizer.ggml.pre";

class BytePairSegmenter final : public Segmenter {
 public:
  BytePairSegmenter(const Vocabulary& vocabulary, std::unique_ptr<PreTokenizer> cutter)
      : vocabulary_(vocabulary), cutter_(std::move(cutter)) {
    for (int byte = 0; byte < 256; ++byte) {
      characters_[byte] = ByteCharacter(static_cast<uint8_t>(byte));
      byte_tokens_[byte] = FindText(characters_[byte]).value_or(-1);
    }
  }

  absl::Status ReadMerges(const GgufFile& file, ThreadPool* pool);
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
  void FindMerges(absl::Span<const GgufStrings::Iterator> lines, absl::Span<MergeTokens> found) const;
  TokenId FindJoined(absl::string_view left, absl::string_view right, TokenId next) const;  // -1: none.
  std::optional<TokenId> FindWord(absl::string_view word) const;
  void EncodeWord(absl::string_view word, std::vector<MergeSymbol>& symbols, std::vector<TokenId>* tokens) const;

  const Vocabulary& vocabulary_;
  std::unique_ptr<PreTokenizer> cutter_;
  std::array<std::string, 256> characters_;
  std::array<TokenId, 256> byte_tokens_;                  // -1: the vocabulary has none.
  MergeTable merges_;
};

// Texts are looked up together, some merges at a time.
struct MergeBatch {
  static constexpr size_t kMost = 32;

  void Add(absl::string_view merge) {
    const size_t space = merge.find(' ', 1);  // From 1: neither side is empty.
    const bool two = space != absl::string_view::npos && space + 1 < merge.size();
    texts[2 * size] = merge.substr(0, space);
    texts[2 * size + 1] = two ? merge.substr(space + 1) : "";  // An empty text is never found.
    ++size;
  }

  size_t size = 0;
  std::array<absl::string_view, 2 * kMost> texts;
  std::array<TokenId, 2 * kMost> tokens;
};

absl::Status BytePairSegmenter::ReadMerges(const GgufFile& file, ThreadPool* pool) {
  ASSIGN_OR_RETURN(const GgufStrings merges, file.Strings(kMergesKey));
  std::vector<GgufStrings::Iterator> lines;
  lines.reserve(merges.size());
  for (auto line = merges.begin(); line != merges.end(); ++line) lines.push_back(line);
  std::vector<MergeTokens> found(lines.size());
  const auto find_share = [&](int worker, int workers) {
    const auto [begin, end] = ShareOf(static_cast<long>(lines.size()), worker, workers);
    FindMerges(absl::MakeSpan(lines).subspan(begin, end - begin), absl::MakeSpan(found).subspan(begin, end - begin));
  };
  if (pool == nullptr) find_share(0, 1);
  else pool->Run([&](int worker) { find_share(worker, pool->threads()); });
  for (size_t i = 0; i < found.size(); ++i) {
    auto& [left, right, joined] = found[i];
    if (left < 0 || right < 0 || joined < 0) {
      return file.WrongValue(kMergesKey,
                             absl::StrCat("found ", Quoted(*lines[i]),
                                          ", expected two tokens with a space between, whose joined text is a token"),
                             static_cast<int64_t>(i));
    }
    if (!vocabulary_.IsText(joined)) joined = -1;
  }
  merges_ = MergeTable(std::move(found));
  return absl::OkStatus();
}

void BytePairSegmenter::FindMerges(absl::Span<const GgufStrings::Iterator> lines, absl::Span<MergeTokens> found) const {
  TokenId joined = -1;
  for (size_t done = 0; done < lines.size();) {
    MergeBatch batch;
    while (batch.size < MergeBatch::kMost && done + batch.size < lines.size()) batch.Add(*lines[done + batch.size]);
    vocabulary_.FindAll({batch.texts.data(), 2 * batch.size}, {batch.tokens.data(), 2 * batch.size});
    for (size_t i = 0; i < batch.size; ++i, ++done) {
      joined = FindJoined(batch.texts[2 * i], batch.texts[2 * i + 1], joined + 1);
      found[done] = {batch.tokens[2 * i], batch.tokens[2 * i + 1], joined};
    }
  }
}

// Tokens have mostly been numbered in the order of the merges that make them: then the next is the right one.
TokenId BytePairSegmenter::FindJoined(absl::string_view left, absl::string_view right, TokenId next) const {
  if (vocabulary_.IsJoined(next, left, right)) return next;
  return vocabulary_.Find(absl::StrCat(left, right)).value_or(-1);
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
    const std::optional<size_t> rank = merges_.Find(left.token, right.token);
    if (!rank.has_value()) return std::nullopt;
    return PairMerge{static_cast<double>(*rank), merges_.merge(*rank).joined};
  });
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    if (symbols[i].token >= 0) tokens->push_back(symbols[i].token);  // Else a byte that this vocabulary cannot say.
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segmenter>> NewBytePairSegmenter(const GgufFile& file, const Vocabulary& vocabulary, ThreadPool* pool) {
  ASSIGN_OR_RETURN(const absl::string_view name, file.StringOr(kPreKey, "default"));
  absl::StatusOr<std::unique_ptr<PreTokenizer>> cutter = PreTokenizer::ByName(name);
  if (!cutter.ok()) return file.WrongValue(kPreKey, cutter.status().message());
  auto segmenter = std::make_unique<BytePairSegmenter>(vocabulary, *std::move(cutter));
  RETURN_IF_ERROR(segmenter->ReadMerges(file, pool));
  return segmenter;
}

}  // namespace tessera
