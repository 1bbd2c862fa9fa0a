#include "tessera/apps/bench/models/random_vocabulary.h"

#include <glog/logging.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/model/text/byte_alphabet.h"

namespace tessera {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int32_t kNormal = 1, kControl = 3;
constexpr uint32_t kBeginId = 0, kEndId = 1;

class Maker {
 public:
  explicit Maker(int size) : size_(size) {}

  RandomVocabulary Make() {
    Add("<|begin_of_text|>", kControl);
    Add("<|end_of_text|>", kControl);
    for (int byte = 0; byte < 256; ++byte) Add(ByteCharacter(static_cast<uint8_t>(byte)), kNormal);
    std::vector<std::string> words;  // Words that can be extended: letters, and letters after a space.
    for (char letter = 'a'; letter <= 'z'; ++letter) words.emplace_back(1, letter);
    for (char letter = 'a'; letter <= 'z'; ++letter) words.push_back(Join(ByteCharacter(' '), letter));
    SeededRandom random(kSeed);
    while (static_cast<int>(made_.tokens.size()) < size_) {
      const std::string& word = words[random.Below(static_cast<int64_t>(words.size()))];
      const char letter = static_cast<char>('a' + random.Below(26));
      if (texts_.contains(absl::StrCat(word, std::string(1, letter)))) continue;
      words.push_back(Join(word, letter));
    }
    return std::move(made_);
  }

 private:
  void Add(const std::string& text, int32_t type) {
    CHECK(texts_.insert(text).second) << text;
    made_.tokens.push_back(text);
    made_.types.push_back(type);
  }
  std::string Join(const std::string& word, char letter) {
    const std::string right(1, letter), joined = word + right;
    Add(joined, kNormal);
    made_.merges.push_back(absl::StrCat(word, " ", right));
    return joined;
  }

  const int size_;
  RandomVocabulary made_;
  absl::flat_hash_set<std::string> texts_;
};

}  // namespace

void RandomVocabulary::PutInto(GgufWriter& writer) const {
  writer.String("tokenizer.ggml.model", "gpt2").String("tokenizer.ggml.pre", "llama-bpe");
  writer.Strings("tokenizer.ggml.tokens", tokens).Numbers<int32_t>("tokenizer.ggml.token_type", types);
  writer.Strings("tokenizer.ggml.merges", merges);
  writer.Number("tokenizer.ggml.bos_token_id", kBeginId).Number("tokenizer.ggml.eos_token_id", kEndId);
}

RandomVocabulary MakeRandomVocabulary(int size) {
  CHECK_GE(size, RandomVocabulary::kSmallest);
  return Maker(size).Make();
}

}  // namespace tessera
