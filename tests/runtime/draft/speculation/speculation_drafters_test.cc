// The drafters of --speculate, each alone and all together: what they propose in texts that repeat, they change none of them.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

const SamplingOptions kGreedy = {.temperature = 0};
const SamplingOptions kSampled = {.temperature = 0.8f, .top_k = 40, .min_p = 0.05f, .repetition_penalty = 1.1f, .seed = 7};

// The same 50 letters again and again.
std::vector<TokenId> RepeatedLetters(int count) {
  std::vector<TokenId> tokens = RandomTokens(50, 3);
  for (TokenId& token : tokens) token = 'a' + token % 26;
  for (int i = 50; i < count; ++i) tokens.push_back(tokens[i - 50]);
  return tokens;
}

std::unique_ptr<Speculator> Drafting(const std::string& list, const Engine& engine, const Speculator::Options& options) {
  const DraftingSize size = {.context = engine.context(), .vocabulary = kTinyVocabulary};
  return std::make_unique<Speculator>(Must(DrafterRegistry::BuiltIn().Make(list, size)), options);
}

TinyModel LettersOf(const std::string& architecture) {
  const bool gemma = architecture == "gemma3";
  return {.architecture = architecture, .layers = gemma ? 7 : 2, .window = gemma ? 16 : 0, .writes_letters = true};
}

void ExpectEachProposed(const Speculator& speculator) {
  for (const auto& [name, nodes] : NodesProposed(speculator)) EXPECT_GT(nodes, 0) << name << " drafted nothing";
}

class SpeculationDrafters : public testing::TestWithParam<const char*> {
 protected:
  const std::unique_ptr<Engine> engine_ =
      TinyEngine(LettersOf(GetParam()), {.compute = {.threads = 1, .row_capacity = 64}, .cache = {.context = 512}});
  PromptWriter writer_{*engine_, RepeatedLetters(360)};
};

TEST_P(SpeculationDrafters, EachAloneChangesNoBit) {
  for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
    const WrittenText plain = writer_.Write(sampling, {}, nullptr);
    for (const std::string& name : DrafterRegistry::BuiltIn().Names()) {
      SCOPED_TRACE(name);
      // What is drafted once more was drafted before by another.
      const auto speculator = Drafting(name == "reuse" ? "lookup,reuse" : name, *engine_, {.max_rows = 24, .weigh_costs = false});
      EXPECT_EQ(writer_.WriteWith(sampling, {}, speculator.get()), plain);
      EXPECT_GT(writer_.drafted(), 0);
      ExpectEachProposed(*speculator);
    }
  }
}

// Whether all that is proposed is verified, or what pays by costs that are known, or by those of this machine as they come.
TEST_P(SpeculationDrafters, AllTogetherChangeNoBit) {
  CostProfile frozen = FrozenCosts();
  const auto everything = Drafting("auto", *engine_, {.weigh_costs = false});
  const auto by_frozen = Drafting("auto", *engine_, {.costs = &frozen}), by_measured = Drafting("auto", *engine_, {});
  for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
    const WrittenText plain = writer_.Write(sampling, {}, nullptr);
    for (Speculator* const speculator : {everything.get(), by_frozen.get(), by_measured.get()}) {
      for (int text = 0; text < 2; ++text) {   // The second with what they learnt of the first.
        EXPECT_EQ(writer_.WriteWith(sampling, {}, speculator), plain) << text;
      }
    }
  }
  for (const Speculator* const speculator : {everything.get(), by_frozen.get()}) {
    EXPECT_EQ(NodesProposed(*speculator).size(), DrafterRegistry::BuiltIn().Names().size());
    EXPECT_GT(speculator->report().drafted_steps, 0);
    ExpectEachProposed(*speculator);
  }
}

TEST_P(SpeculationDrafters, FrozenCostsMakeTheSameDraftsAgain) {
  CostProfile frozen = FrozenCosts();
  std::vector<std::map<std::string, int64_t>> proposed;
  for (int run = 0; run < 2; ++run) {
    const auto speculator = Drafting("auto", *engine_, {.costs = &frozen});
    writer_.WriteWith(kSampled, {}, speculator.get());
    proposed.push_back(NodesProposed(*speculator));
    proposed.back()["rows"] = writer_.rows();
  }
  EXPECT_EQ(proposed[0], proposed[1]);
}

INSTANTIATE_TEST_SUITE_P(Architectures, SpeculationDrafters, testing::ValuesIn(kArchitectures),
                         [](const auto& info) { return info.param; });

// From the last hundred positions of a long context to its end.
TEST(SpeculationLongContext, ToTheEndOfAContextOf8192) {
  const int context = Fewer(8192, 512);
  const auto engine = TinyEngine(LettersOf("llama"), {.compute = {.threads = 2, .row_capacity = 64}, .cache = {.context = context}});
  PromptWriter writer(*engine, RepeatedLetters(context - 100));
  const WrittenText plain = writer.Write(kGreedy, {}, nullptr);
  EXPECT_EQ(plain.reason, FinishReason::kContextFull);
  EXPECT_EQ(plain.held.size(), static_cast<size_t>(context));
  std::vector<std::string> lists = DrafterRegistry::BuiltIn().Names();
  lists.push_back("auto");
  for (const std::string& list : lists) {
    SCOPED_TRACE(list);
    const auto speculator = Drafting(list == "reuse" ? "lookup,reuse" : list, *engine, {.max_rows = 24, .weigh_costs = false});
    EXPECT_EQ(writer.WriteWith(kGreedy, {}, speculator.get()), plain);
    EXPECT_GT(writer.drafted(), 0);
    ExpectEachProposed(*speculator);
  }
}

}  // namespace
}  // namespace tessera
