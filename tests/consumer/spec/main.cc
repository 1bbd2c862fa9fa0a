// Writes a text with a toy model, several tokens per pass: drafts are looked up in the text, and the model checks them as a tree.
#include <iostream>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/trees/verify.h"

namespace {

using namespace tessera;

constexpr int kVocabulary = 10;

// Knows one thing: after a token comes the one three further on, round the vocabulary.
std::vector<float> LogitsAfter(TokenId token) {
  std::vector<float> logits(kVocabulary, 0.0f);
  logits[static_cast<size_t>((token + 3) % kVocabulary)] = 1.0f;
  return logits;
}

// The number of passes for `tokens` more tokens of `text`.
absl::StatusOr<int> Write(int tokens, std::vector<TokenId>& text) {
  const DraftingSize size = {.context = 128, .vocabulary = kVocabulary};
  ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<Drafter>> drafters, DrafterRegistry::BuiltIn().Make("lookup", size));
  Drafter& drafter = *drafters[0];
  drafter.Begin(text);
  const size_t end = text.size() + static_cast<size_t>(tokens);
  int passes = 0;
  for (; text.size() < end; ++passes) {
    TokenTree tree(text.back());
    RETURN_IF_ERROR(drafter.Propose({.max_nodes = 4}, tree));
    std::vector<float> logits;
    const auto logits_of_node = [&](int node) -> absl::StatusOr<absl::Span<const float>> { return logits = LogitsAfter(tree[node].token); };
    const auto choose = [&](absl::Span<const float> values) -> absl::StatusOr<Choice> {
      text.push_back(TopTokensOf(values, 1)[0].token);
      return Choice{text.back(), text.size() == end};
    };
    Verdict verdict;
    RETURN_IF_ERROR(Verify(tree, logits_of_node, choose, verdict));
    drafter.Commit(tree, verdict);
  }
  return passes;
}

}  // namespace

int main() {
  std::vector<TokenId> text = {0, 3};
  const absl::StatusOr<int> passes = Write(60, text);
  bool right = true;
  for (size_t i = 1; i < text.size(); ++i) right = right && text[i] == (text[i - 1] + 3) % kVocabulary;
  std::cout << "spec: " << text.size() - 2 << " tokens in " << passes.value_or(0) << " passes, " << passes.status() << "\n";
  return right && text.size() == 62 && passes.value_or(99) < 30 ? 0 : 1;
}
