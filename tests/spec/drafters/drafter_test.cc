#include "tessera/spec/drafters/drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/prompt_lookup.h"

namespace tessera {
namespace {

void LogIfError(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

// A model that says the same five tokens again and again.
TEST(Drafter, HeaderExample) {
  const auto next_of = [](TokenId token) { return static_cast<TokenId>((token + 1) % 5); };
  std::vector<TokenId> text = {0, 1, 2, 3, 4, 0, 1};
  const int rows = 8;
  std::unique_ptr<Drafter> drafter = std::make_unique<PromptLookup>(PromptLookup::Options());
  Verdict verdict;
  const auto run = [&]() -> absl::Status {
    drafter->Begin(text);
    bool done = false;
    while (!done) {
      TokenTree tree(text.back());
      LogIfError(drafter->Propose({.max_nodes = rows - 1}, tree));
      std::vector<float> logits(5);
      const auto logits_of_node = [&](int node) -> absl::StatusOr<absl::Span<const float>> {
        logits.assign(5, 0.0f);
        logits[next_of(tree[node].token)] = 1;
        return logits;
      };
      const auto chooser = [&](absl::Span<const float> values) -> absl::StatusOr<Choice> {
        return Choice{static_cast<TokenId>(std::max_element(values.begin(), values.end()) - values.begin())};
      };
      RETURN_IF_ERROR(Verify(tree, logits_of_node, chooser, verdict));
      drafter->Commit(tree, verdict);
      text.insert(text.end(), verdict.emitted.begin(), verdict.emitted.end());
      done = text.size() > 30;
    }
    return absl::OkStatus();
  };
  ASSERT_TRUE(run().ok());
  for (size_t i = 1; i < text.size(); ++i) EXPECT_EQ(text[i], next_of(text[i - 1]));
  EXPECT_GT(verdict.path.size(), 4u);
}

}  // namespace
}  // namespace tessera
