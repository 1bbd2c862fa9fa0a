// Two real models write the same text and the same logits whatever is drafted, and however they are run.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

const SamplingOptions kGreedy = {.temperature = 0};
const SamplingOptions kSampled = {.temperature = 0.8f, .top_k = 40, .min_p = 0.05f, .repetition_penalty = 1.1f, .seed = 7};

class SpeculationModels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = RealModelPath(GetParam());
    if (model_.empty()) FAIL() << RealModelMissing(GetParam());
  }
  std::unique_ptr<Engine> Load(EngineOptions options = {}) const {
    if (options.model_path.empty()) options.model_path = model_;
    if (options.compute.threads == 0) options.compute.threads = 2;
    if (options.cache.context == 0) options.cache.context = 256;
    return Must(Engine::Load(options));
  }
  std::vector<TokenId> Prompt(int i) const {
    return ReadGoldenTexts(std::string(GetParam()) + "/generate_f32.jsonl")[i].prompt;
  }

  // What knows the text, what is wrong, what is right by chance and what is late.
  static std::vector<std::unique_ptr<Drafter>> Drafters(const std::vector<TokenId>& text, int vocabulary) {
    std::vector<std::unique_ptr<Drafter>> drafters;
    drafters.push_back(std::make_unique<ScriptedDrafter>(text));
    drafters.push_back(std::make_unique<ScriptedDrafter>(text, /*wrong=*/1, vocabulary));
    drafters.push_back(std::make_unique<RandomDrafter>(vocabulary, /*seed=*/3, text));
    drafters.push_back(std::make_unique<LateDrafter>(text, /*steps=*/2));
    return drafters;
  }

  static std::unique_ptr<Speculator> Drafting(const std::string& list, const Engine& engine, const Speculator::Options& options) {
    const DraftingSize size = {.context = engine.context(), .vocabulary = engine.config().vocabulary};
    return std::make_unique<Speculator>(Must(DrafterRegistry::BuiltIn().Make(list, size)), options);
  }

  // With these an end token comes soon after Prompt(13): SmolLM2 was taught to end an answer, the Gemma 3 at hand does so by chance.
  static std::vector<SamplingOptions> SamplingsThatEnd() {
    if (GetParam() == std::string("gemma3")) return {{.temperature = 3, .top_k = 200, .top_p = 1, .min_p = 0, .seed = 20}};
    SamplingOptions sampled = kSampled;
    sampled.seed = 13;
    return {kGreedy, sampled};
  }

  std::string model_;
};

// Notes what became of its drafts.
struct Drafts {
  int64_t verified = 0;
  int most_rows = 0;
};
class CountedDrafter : public RandomDrafter {
 public:
  CountedDrafter(int vocabulary, uint64_t seed, std::vector<TokenId> text, Drafts& drafts)
      : RandomDrafter(vocabulary, seed, std::move(text)), drafts_(drafts) {}
  void Commit(const TokenTree& tree, const Verdict& verdict) override {
    drafts_.verified += tree.size() > 1 ? 1 : 0;
    drafts_.most_rows = std::max(drafts_.most_rows, tree.size());
    RandomDrafter::Commit(tree, verdict);
  }

 private:
  Drafts& drafts_;
};

// The text with every other token wrong: drafts from it are rejected soon.
std::vector<TokenId> Spoiled(std::vector<TokenId> text, int vocabulary) {
  for (size_t i = 0; i < text.size(); i += 2) text[i] = (text[i] + 1) % vocabulary;
  return text;
}

// Drafts of up to 32 rows, the default limit of an engine. Most have few rows, which take less time, and are right now and then, or by
// chance alone.
TEST_P(SpeculationModels, AThousandRandomDrafts) {
  const auto engine = Load();
  const int vocabulary = engine->config().vocabulary;
  PromptWriter writer(*engine, Prompt(14));
  Drafts drafts;
  for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
    const GenerateOptions options = {.max_tokens = 64, .ignore_end = true};
    const WrittenText plain = writer.Write(sampling, options, nullptr);
    const std::vector<TokenId> spoiled = Spoiled(plain.tokens, vocabulary), texts[] = {plain.tokens, spoiled, {}, spoiled};
    for (int seed = 0; seed < Fewer(16, 2); ++seed) {
      constexpr int kMostRows[] = {32, 8, 6, 5};
      auto drafter = std::make_unique<CountedDrafter>(vocabulary, seed, texts[seed % 4], drafts);
      EXPECT_EQ(writer.Write(sampling, options, std::move(drafter), kMostRows[seed % 4]), plain) << seed;
    }
  }
  EXPECT_GE(drafts.verified, Fewer(1000, 50));
  if (!kSanitized) {
    EXPECT_EQ(drafts.most_rows, 32);
  }
}

TEST_P(SpeculationModels, NoDrafterChangesABit) {
  const auto engine = Load();
  PromptWriter writer(*engine, Prompt(0));
  for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
    const GenerateOptions options = {.max_tokens = Fewer(14, 6)};
    const WrittenText plain = writer.Write(sampling, options, nullptr);
    const int64_t plain_passes = writer.passes();
    for (std::unique_ptr<Drafter>& drafter : Drafters(plain.tokens, engine->config().vocabulary)) {
      const std::string name(drafter->name());
      EXPECT_EQ(writer.Write(sampling, options, std::move(drafter)), plain) << name;
      EXPECT_LE(writer.passes(), plain_passes) << name;
    }
  }
}

TEST_P(SpeculationModels, AnOracleTakesAPassForAllItsRows) {
  const auto engine = Load();
  PromptWriter writer(*engine, Prompt(1));
  const GenerateOptions options = {.max_tokens = Fewer(25, 9), .ignore_end = true};
  const WrittenText plain = writer.Write(kGreedy, options, nullptr);
  for (const int max_rows : {1, 2, 5, 8, 32}) {
    EXPECT_EQ(writer.Write(kGreedy, options, std::make_unique<ScriptedDrafter>(plain.tokens), max_rows), plain) << max_rows;
    EXPECT_EQ(writer.passes(), (static_cast<int64_t>(plain.tokens.size()) - 2) / max_rows + 1) << max_rows;
  }
}

TEST_P(SpeculationModels, StopStringsAndTheContextEndATextInTheMiddleOfADraft) {
  const auto engine = Load({.cache = {.context = static_cast<int>(Prompt(1).size()) + 22}});
  PromptWriter writer(*engine, Prompt(1));
  for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
    const WrittenText whole = writer.Write(sampling, {.ignore_end = true}, nullptr);
    EXPECT_EQ(whole.reason, FinishReason::kContextFull);
    std::vector<TokenId> beyond = whole.tokens;
    beyond.insert(beyond.end(), 20, whole.tokens.back());
    EXPECT_EQ(writer.Write(sampling, {.ignore_end = true}, std::make_unique<ScriptedDrafter>(beyond)), whole);
    for (size_t begin = 3; begin + 3 < whole.text.size() && begin < 24; begin += 7) {
      const GenerateOptions options = {.max_tokens = 20, .stop = {whole.text.substr(begin, 3)}, .ignore_end = true};
      const WrittenText plain = writer.Write(sampling, options, nullptr);
      EXPECT_EQ(plain.reason, FinishReason::kStopString);
      EXPECT_EQ(writer.Write(sampling, options, std::make_unique<ScriptedDrafter>(beyond)), plain) << begin;
      auto random = std::make_unique<RandomDrafter>(engine->config().vocabulary, begin, beyond);
      EXPECT_EQ(writer.Write(sampling, options, std::move(random)), plain) << begin;
    }
  }
}

// And what is drafted beyond an end token, as the model would go on and as it would not.
TEST_P(SpeculationModels, NothingFollowsAnEndToken) {
  const auto engine = Load();
  PromptWriter writer(*engine, Prompt(13));
  const GenerateOptions options = {.max_tokens = 48};
  for (const SamplingOptions& sampling : SamplingsThatEnd()) {
    const WrittenText plain = writer.Write(sampling, options, nullptr);
    EXPECT_EQ(plain.reason, FinishReason::kEndToken) << plain.text;
    EXPECT_GT(plain.tokens.size(), 10u);
    const int further = static_cast<int>(plain.tokens.size()) + 12;
    const std::vector<TokenId> beyond = writer.Write(sampling, {.max_tokens = further, .ignore_end = true}, nullptr).tokens;
    std::vector<TokenId> end_again = plain.tokens;
    end_again.insert(end_again.end(), 12, plain.tokens.back());
    for (const int max_rows : {5, 32}) {
      for (const std::vector<TokenId>& text : {beyond, end_again}) {
        EXPECT_EQ(writer.Write(sampling, options, std::make_unique<ScriptedDrafter>(text), max_rows), plain) << max_rows;
        auto random = std::make_unique<RandomDrafter>(engine->config().vocabulary, max_rows, text);
        EXPECT_EQ(writer.Write(sampling, options, std::move(random), max_rows), plain) << max_rows;
      }
    }
  }
}

// Each drafter of --speculate learns from the prompt, from what was text and from what was rejected, alone and with all the others.
TEST_P(SpeculationModels, AnyDrafterOfSpeculateChangesNoBit) {
  const auto engine = Load({.cache = {.context = 320}});
  PromptWriter writer(*engine, Prompt(1));
  const GenerateOptions options = {.max_tokens = Fewer(40, 12)}, few = {.max_tokens = Fewer(14, 6)};
  const WrittenText plain = writer.Write(kSampled, options, nullptr);
  CostProfile frozen = FrozenCosts();
  const auto everything = Drafting("auto", *engine, {.max_rows = 10, .weigh_costs = false});
  const auto by_frozen = Drafting("auto", *engine, {.max_rows = 10, .costs = &frozen}), by_measured = Drafting("auto", *engine, {});
  EXPECT_EQ(writer.WriteWith(kSampled, options, everything.get()), plain);
  EXPECT_LT(writer.passes(), static_cast<int64_t>(plain.tokens.size()) - 1);
  EXPECT_EQ(writer.WriteWith(kSampled, options, by_frozen.get()), plain);
  EXPECT_GT(writer.drafted(), 0);
  EXPECT_EQ(NodesProposed(*everything).size(), DrafterRegistry::BuiltIn().Names().size());
  for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
    const WrittenText expected = writer.Write(sampling, few, nullptr);
    EXPECT_EQ(writer.WriteWith(sampling, few, by_measured.get()), expected);
    for (const std::string& name : DrafterRegistry::BuiltIn().Names()) {
      const auto alone = Drafting(name, *engine, {.max_rows = 8, .weigh_costs = false});
      EXPECT_EQ(writer.WriteWith(sampling, few, alone.get()), expected) << name;
    }
  }
  EXPECT_EQ(writer.WriteWith(kGreedy, few, everything.get()), writer.Write(kGreedy, few, nullptr));
  if (kSanitized) return;   // With few tokens, not every drafter has something to propose.
  for (const auto& [name, nodes] : NodesProposed(*everything)) EXPECT_GT(nodes, 0) << name << " drafted nothing";
}

// Threads, rows of a pass, the cache's format and streaming under the least budget.
TEST_P(SpeculationModels, AnyThreadsRowsFormatsAndStreamingChangeNoBit) {
  const std::vector<TokenId> prompt = Prompt(2);
  const GenerateOptions options = {.max_tokens = Fewer(14, 5)};
  std::vector<WrittenText> halves, bytes;
  for (const KvFormat format : {KvFormat::kHalf, KvFormat::kInt8}) {
    const auto engine = Load({.cache = {.kv_format = format}});
    PromptWriter writer(*engine, prompt);
    for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
      (format == KvFormat::kHalf ? halves : bytes).push_back(writer.Write(sampling, options, nullptr));
    }
  }
  const auto expect_same = [&](const EngineOptions& run, const std::vector<WrittenText>& plain, const char* how) {
    SCOPED_TRACE(how);
    const auto engine = Load(run);
    PromptWriter writer(*engine, prompt);
    for (int i = 0; i < 2; ++i) {
      const SamplingOptions& sampling = i == 0 ? kGreedy : kSampled;
      EXPECT_EQ(writer.Write(sampling, options, std::make_unique<ScriptedDrafter>(plain[i].tokens)), plain[i]);
      EXPECT_EQ(writer.Write(sampling, options, std::make_unique<RandomDrafter>(engine->config().vocabulary, i, plain[i].tokens)),
                plain[i]);
    }
    EXPECT_EQ(engine->model().streamer() != nullptr, run.streaming.memory_budget > 0);
  };
  expect_same({.compute = {.threads = 1, .row_capacity = 7}}, halves, "one thread, passes of seven rows");
  expect_same({.compute = {.row_capacity = 64}, .hooks = Hooks({.scatter_seed = 5})}, halves, "slots at random");
  expect_same({.cache = {.kv_format = KvFormat::kInt8}}, bytes, "a cache of 8 bits");
  if (kSanitized) return;  // A sanitizer's own memory grows from engine to engine, and no budget fits the next.
  const PackedModel packed(model_);
  EngineOptions streamed = {.model_path = packed.path(),
                            .compute = {.threads = 2},
                            .cache = {.context = 256},
                            .streaming = {.pin = PinPolicy::kNone},
                            .workload = {.logit_rows = 18}};
  streamed.streaming.memory_budget = Must(Must(Engine::Open(streamed))->planner().PlanBudget(int64_t{1} << 40)).least + 8 * kMiB;
  expect_same(streamed, halves, "streamed");
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationModels, testing::Values("smollm2", "gemma3"), [](const auto& info) { return info.param; });

// Five of six layers attend to 512 positions: the text begins beyond them, in a ring that goes round, and drafts are rejected there.
TEST(SpeculationWindows, ALongPromptInGemma3) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const auto engine = Must(Engine::Load({.model_path = model, .compute = {.threads = 2, .row_capacity = 32}, .cache = {.context = 700}}));
  std::vector<TokenId> prompt =
      engine->tokenizer().Encode(Must(GoldenLines("wikitext2_articles.jsonl")[0].String("text")), {.add_bos = true});
  prompt.resize(Fewer(540, 30));
  PromptWriter writer(*engine, prompt);
  const GenerateOptions options = {.max_tokens = Fewer(40, 9), .ignore_end = true};  // Near the last drafts are short.
  const WrittenText plain = writer.Write(kGreedy, options, nullptr);
  for (uint64_t seed = 0; seed < 2; ++seed) {
    EXPECT_EQ(writer.Write(kGreedy, options, std::make_unique<RandomDrafter>(engine->config().vocabulary, seed, plain.tokens)),
              plain)
        << seed;
    EXPECT_LT(writer.passes(), static_cast<int64_t>(plain.tokens.size()) - 1);
    EXPECT_GT(writer.rows(), 2 * writer.passes());
  }
}

}  // namespace
}  // namespace tessera
