// Cuts text into words as a tokenizer does, and chooses the likeliest token.
#include <iostream>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/pre_tokenizer.h"
#include "tessera/model/text/sampler.h"

namespace {

using namespace tessera;

absl::StatusOr<size_t> Words(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PreTokenizer> cutter, PreTokenizer::ByName("gpt-2"));
  std::vector<absl::string_view> words;
  cutter->Split(text, &words);
  return words.size();
}

absl::StatusOr<TokenId> Likeliest(const std::vector<float>& logits) {
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  return sampler.Choose(logits, {}, /*stream=*/0, /*index=*/0);
}

}  // namespace

int main() {
  const absl::StatusOr<size_t> words = Words("The sky is blue, isn't it?");
  const absl::StatusOr<TokenId> token = Likeliest({0.5f, -1, 3, 2});
  std::cout << "model: " << words.value_or(0) << " words, " << words.status() << "; token " << token.value_or(-1) << ", "
            << token.status() << "\n";
  return words.value_or(0) == 9 && token.value_or(-1) == 2 ? 0 : 1;
}
