// Texts whose drafts are accepted by rejection have the distribution of plain decoding, if not its bits.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/chi_square.h"
#include "tessera/tests/fakes/table_expander.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int kTokens = 3, kRuns = 8000;
using Written = std::vector<TokenId>;

class RejectionText : public testing::Test {
 protected:
  RejectionText() { Walk({}, 1); }

  SamplingOptions Sampling(uint64_t seed) const { return {.temperature = 2, .top_k = 2, .top_p = 1, .min_p = 0, .seed = seed}; }

  // All texts of kTokens tokens with their probabilities, by the sampler's distribution after each of their prefixes.
  void Walk(const Written& written, double reached) {
    if (written.size() == kTokens) {
      number_[written] = static_cast<int>(distribution_.size());
      distribution_.push_back(reached);
      return;
    }
    const auto session = Must(prompt_->Fork(prompt_->length()));
    if (!written.empty()) Must(session->Append(written));
    std::vector<float> distribution(session->logits().size());
    Must(Must(Sampler::Create(Sampling(0))).Distribution(session->logits(), written, absl::MakeSpan(distribution)));
    TokenId never = 0;
    while (distribution[never] > 0) ++never;
    TopTokens draft = {{never, 0.1f}};   // The target's come in another order than its own.
    for (TokenId token = 0; token < static_cast<TokenId>(distribution.size()); ++token) {
      if (!(distribution[token] > 0)) continue;
      draft.insert(draft.begin(), {token, draft.size() == 1 ? 0.2f : 0.7f});
      Written next = written;
      next.push_back(token);
      Walk(next, reached * distribution[token]);
    }
    drafts_[written] = draft;
  }

  DraftDistribution Draft() const {
    return [this](absl::Span<const TokenId> text) {
      const absl::Span<const TokenId> written = text.subspan(prompt_->length());
      const auto found = drafts_.find(Written(written.begin(), written.end()));
      return found == drafts_.end() ? TopTokens() : found->second;
    };
  }

  Generation Write(uint64_t seed, const std::string& policy, DraftRule rule) const {
    const ExpandingDrafter::Options options = {.sampling = DraftSampling{.children = 2}, .seed = seed};
    Speculator speculator(std::make_unique<ExpandingDrafter>(std::make_unique<TableExpander>(Draft()), Must(MakeTreePolicy(policy, {})),
                                                             options),
                          {.max_rows = 8, .weigh_costs = false});
    const auto session = Must(prompt_->Fork(prompt_->length()));
    GenerateOptions text = {.max_tokens = kTokens, .ignore_end = true};
    text.rule = rule;
    text.speculator = &speculator;
    return Must(Generate(*session, Must(Sampler::Create(Sampling(seed))), text));
  }

  const std::unique_ptr<Engine> engine_ =
      TinyEngine({.layers = 1, .writes_letters = true}, {.compute = {.threads = 1}, .cache = {.context = 64}});
  const std::unique_ptr<Session> prompt_ = [this] {
    std::unique_ptr<Session> session = Must(engine_->NewSession());
    Must(session->Append(RandomTokens(5, 1)));
    return session;
  }();
  std::map<Written, int> number_;
  std::vector<double> distribution_;                // By number.
  std::map<Written, TopTokens> drafts_;
};

TEST_F(RejectionText, HasTheDistributionOfPlainDecoding) {
  ASSERT_EQ(distribution_.size(), 8u);
  for (const char* const policy : {"chain:tokens=2,least=0", "specinfer:widths=2x2", "opt_tree:nodes=4,threshold=0,depth=2",
                                   "eagle2:width=1,depth=2,nodes=3"}) {
    std::vector<int64_t> counts(distribution_.size());
    int64_t passes = 0;
    for (int run = 0; run < kRuns; ++run) {
      const Generation written = Write(static_cast<uint64_t>(run), policy, DraftRule::kRejection);
      counts[number_.at(written.tokens)] += 1;
      passes += written.passes;
    }
    EXPECT_LT(ChiSquare(counts, distribution_), MostChiSquare(distribution_.size())) << policy;
    EXPECT_LT(passes, int64_t{kRuns} * 9 / 5) << policy << ": hardly anything was accepted";
  }
}

// The same drafts: the rule accepts more of them than what is drawn anyway.
TEST_F(RejectionText, AcceptsMoreThanMatchesWould) {
  int64_t match = 0, rejection = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    match += Write(seed, "chain:tokens=2,least=0", DraftRule::kMatch).passes;
    rejection += Write(seed, "chain:tokens=2,least=0", DraftRule::kRejection).passes;
  }
  EXPECT_LT(rejection, match * 95 / 100);
}

TEST_F(RejectionText, WithoutTheRuleTheTextHasTheSameBits) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto session = Must(prompt_->Fork(prompt_->length()));
    const Generation plain = Must(Generate(*session, Must(Sampler::Create(Sampling(seed))), {.max_tokens = kTokens, .ignore_end = true}));
    EXPECT_EQ(Write(seed, "specinfer:widths=2x2", DraftRule::kMatch).tokens, plain.tokens);
  }
}

}  // namespace
}  // namespace tessera
