// Sessions, answers and steppers with adapters: each text is what its rows say one by one, and nothing that was computed with one adapter
// comes into a text with another.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/forged_adapter.h"
#include "tessera/tests/fakes/lone_text.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/small_texts.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class SessionAdapter : public testing::Test {
 protected:
  SessionAdapter() {
    TinyModelBuilder({.layers = 2, .writes_letters = true}).WriteTo(options_.model_path);
    lone_ = std::make_unique<LoneWriter>(options_);
    engine_ = Must(Engine::Load(options_));
    const ModelConfig& config = engine_->config();
    adapters_.push_back(RandomAdapter(config, /*rank=*/3, kAllTargets, /*seed=*/1));
    adapters_.push_back(RandomAdapter(config, /*rank=*/3, kAllTargets, /*seed=*/1, /*scale=*/0.5f));
    adapters_.push_back(RandomAdapter(config, /*rank=*/2, 1u << static_cast<int>(LoraTarget::kValue), /*seed=*/2));
    for (const LoraAdapter& adapter : adapters_) all_.push_back(&adapter);
  }

  // The text after a prompt that is the same for all.
  StreamOptions Text(const LoraAdapter* adapter, float temperature = 0) const {
    StreamOptions options = {.prompt = prompt_, .sampling = {.temperature = temperature, .seed = 5}};
    options.text = {.max_tokens = 10, .ignore_end = true};
    options.adapter = adapter;
    return options;
  }

  // As Generate writes it, in a session of the engine.
  LoneText Written(Session& session, const StreamOptions& options, Speculator* speculator = nullptr) const {
    LoneText written;
    GenerateOptions text = options.text;
    text.speculator = speculator;
    text.on_token = [&](TokenId, absl::Span<const float> logits) { written.logits.push_back(DigestOf(logits)); };
    written.tokens = Must(Generate(session, Must(Sampler::Create(options.sampling)), text)).tokens;
    return written;
  }

  std::unique_ptr<Session> Prompted(const LoraAdapter* adapter) const {
    std::unique_ptr<Session> session = Must(engine_->NewSession({.adapter = adapter}));
    Must(session->Append(prompt_));
    return session;
  }

  const TemporaryFolder folder_;
  EngineOptions options_ = {.model_path = folder_.Path("tiny.gguf"), .compute = {.threads = 2, .row_capacity = 32},
                            .cache = {.context = 256, .cache_tokens = 2048}, .workload = {.sessions = 8}};
  const std::vector<TokenId> prompt_ = RandomTokens(40, 3);
  std::unique_ptr<LoneWriter> lone_;
  std::unique_ptr<Engine> engine_;
  std::vector<LoraAdapter> adapters_;                  // The second is the first at another scale.
  std::vector<const LoraAdapter*> all_ = {nullptr};    // None, and these.
};

TEST_F(SessionAdapter, EachRowOfASessionHasItsAdapter) {
  std::vector<LoneText> all;
  for (const LoraAdapter* const adapter : all_) {
    for (const float temperature : {0.0f, 0.9f}) {
      const StreamOptions options = Text(adapter, temperature);
      const LoneText expected = lone_->Write(options), written = Written(*Prompted(adapter), options);
      EXPECT_EQ(written.tokens, expected.tokens);
      EXPECT_EQ(written.logits, expected.logits);
      Speculator speculator(std::make_unique<RandomDrafter>(kTinyVocabulary, 3), {.max_rows = 6, .weigh_costs = false});
      const LoneText drafted = Written(*Prompted(adapter), options, &speculator);
      EXPECT_EQ(drafted.tokens, expected.tokens);
      EXPECT_EQ(drafted.logits, expected.logits);
      if (temperature == 0) all.push_back(expected);
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i].logits, all[j].logits) << i << " and " << j << " would show nothing";
  }
}

TEST_F(SessionAdapter, TreesAndRecomputedTokensUseTheAdapter) {
  for (const LoraAdapter* const adapter : all_) {
    const auto session = Prompted(adapter), plain = Prompted(adapter);
    Must(plain->Append({7, 8}));
    TokenTree tree(7);
    tree.Add(TokenTree::kRoot, 8, 1);
    tree.Add(TokenTree::kRoot, 9, 1);
    Must(session->PassTree(tree));
    std::vector<float> logits(engine_->config().vocabulary);
    Must(session->TreeLogits({1}, TensorView<float>(logits.data(), 1, static_cast<int64_t>(logits.size()))));
    session->Keep({0, 1}, logits);
    EXPECT_EQ(session->logits(), plain->logits());
    session->Truncate(20);
    Must(session->Append(absl::MakeConstSpan(prompt_).subspan(20)));
    Must(session->Append({7, 8}));
    EXPECT_EQ(session->logits(), plain->logits());
  }
}

TEST_F(SessionAdapter, AForkHasTheSameOrIsRefused) {
  const auto session = Prompted(&adapters_[0]);
  const auto fork = Must(session->Fork(25));
  EXPECT_EQ(fork->adapter(), &adapters_[0]);
  Must(fork->Append(absl::MakeConstSpan(prompt_).subspan(25)));
  EXPECT_EQ(fork->logits(), session->logits());
  EXPECT_EQ(Must(session->Fork(25, {.adapter = &adapters_[0]}))->adapter(), &adapters_[0]);
  const LoraAdapter copy = RandomAdapter(engine_->config(), /*rank=*/3, kAllTargets, /*seed=*/1);
  for (const LoraAdapter* const other : {all_[2], &copy}) {
    EXPECT_EQ(session->Fork(25, {.adapter = other}).status(),
              absl::InvalidArgumentError("fork: found another adapter, expected that of the session"));
  }
  EXPECT_FALSE(Prompted(nullptr)->Fork(0, {.adapter = &adapters_[0]}).ok());
}

TEST_F(SessionAdapter, OneOfAnotherModelIsRefused) {
  ModelConfig deeper = engine_->config();
  deeper.layers.push_back(deeper.layers[0]);
  const LoraAdapter adapter = RandomAdapter(deeper, /*rank=*/2, kAllTargets, /*seed=*/1);
  const absl::Status expected = absl::InvalidArgumentError("layers of its adapter: found 3, expected 2");
  EXPECT_EQ(engine_->NewSession({.adapter = &adapter}).status(), expected);
  EXPECT_EQ(LoadSession(*engine_, folder_.Path("none"), {.adapter = &adapter}).status(), expected);
}

TEST_F(SessionAdapter, ASavedSessionIsOfItsAdapterAndScaleAlone) {
  const std::string path = folder_.Path("kept");
  const auto text_of = [](const LoraAdapter* adapter) { return adapter == nullptr ? "none" : adapter->Sum().Hex(); };
  for (const LoraAdapter* const adapter : all_) {
    const auto session = Prompted(adapter);
    Must(SaveSession(*session, path));
    const LoneText expected = Written(*session, Text(adapter));
    for (const LoraAdapter* const other : all_) {
      absl::StatusOr<LoadedSession> loaded = LoadSession(*engine_, path, {.adapter = other});
      if (other == adapter) {
        EXPECT_EQ(Written(*Must(std::move(loaded)).session, Text(adapter)).logits, expected.logits);
      } else {
        EXPECT_EQ(loaded.status(), absl::InvalidArgumentError(absl::StrCat(path, ": adapter: found ", text_of(adapter), ", expected ",
                                                                           text_of(other))));
      }
    }
  }
}

// Earlier versions knew an adapter by a number of 64 bits, so keys, values and sessions of one were taken for another's.
TEST_F(SessionAdapter, TwoWithOneOldNumberShareNothing) {
  const ModelConfig& config = engine_->config();
  const LoraAdapter right = RandomAdapter(config, /*rank=*/4, kAllTargets, /*seed=*/1, /*scale=*/1, BlockFormat::kF16);
  const LoraAdapter forged = ForgedAdapter(config, /*rank=*/4, /*seed=*/1, /*forgery=*/5);
  const std::vector<TokenId> alone = lone_->Write(Text(&right)).tokens;
  ASSERT_NE(lone_->Write(Text(&forged)).logits, lone_->Write(Text(&right)).logits) << "would show nothing";
  const auto stepper = Must(Stepper::Create(*engine_, {}));
  Answers answers;
  int number = 0;
  for (const LoraAdapter* const adapter : {&forged, &right, &right}) {
    StreamOptions options = Text(adapter);
    options.on_end = answers.Keep(number++);
    stepper->Submit(std::move(options));
    Must(stepper->Run());
  }
  EXPECT_EQ(answers.texts[1].tokens, alone);
  EXPECT_EQ(answers.texts[1].shared_tokens, 0);
  EXPECT_GT(answers.texts[2].shared_tokens, 0);
  const std::string path = folder_.Path("of_right");
  Must(SaveSession(*Prompted(&right), path));
  EXPECT_EQ(LoadSession(*engine_, path, {.adapter = &forged}).status(),
            absl::InvalidArgumentError(absl::StrCat(path, ": adapter: found ", right.Sum().Hex(), ", expected ", forged.Sum().Hex())));
  const LoraAdapter same = RandomAdapter(config, /*rank=*/4, kAllTargets, /*seed=*/1, /*scale=*/1, BlockFormat::kF16);
  EXPECT_EQ(Written(*Must(LoadSession(*engine_, path, {.adapter = &same})).session, Text(&same)).tokens, alone) << "in another process";
}

// Texts that begin alike, one after another and all at once: what the cache has serves those of the same adapter and scale alone.
TEST_F(SessionAdapter, APrefixIsNeverSharedAcrossAdaptersOrScales) {
  for (const bool at_once : {false, true}) {
    const auto engine = Must(Engine::Load(options_));
    const auto stepper = Must(Stepper::Create(*engine, {}));
    Answers answers;
    int number = 0;
    for (int round = 0; round < 2; ++round) {
      for (const LoraAdapter* const adapter : all_) {
        StreamOptions options = Text(adapter);
        options.on_end = answers.Keep(number++);
        stepper->Submit(std::move(options));
        if (!at_once) Must(stepper->Run());
      }
    }
    Must(stepper->Run());
    const int kinds = static_cast<int>(all_.size());
    for (int i = 0; i < number; ++i) {
      ASSERT_TRUE(answers.texts.contains(i)) << answers.errors[i];
      EXPECT_EQ(answers.texts[i].tokens, lone_->Write(Text(all_[i % kinds])).tokens) << i;
      // At once, one that waits for another's beginning does so until no more than 15 tokens are missing.
      const int most = i < kinds ? 0 : static_cast<int>(prompt_.size()) - 1, least = at_once && most > 0 ? most - 15 : most;
      EXPECT_GE(answers.texts[i].shared_tokens, least) << i << (at_once ? " at once" : "");
      EXPECT_LE(answers.texts[i].shared_tokens, most) << i << (at_once ? " at once" : "");
    }
  }
}

TEST_F(SessionAdapter, AnAnswererForgetsTheTextOfAnotherAdapter) {
  Answerer answerer = Must(Answerer::Create(*engine_, {.sampling = {.temperature = 0}}));
  for (int round = 0; round < 2; ++round) {
    for (const LoraAdapter* const adapter : all_) {
      Must(answerer.UseAdapter(adapter));
      const int64_t before = answerer.timings().prompt_tokens;
      const Generation first = Must(answerer.Run(prompt_, {.max_tokens = 10}));
      EXPECT_EQ(answerer.timings().prompt_tokens - before, static_cast<int64_t>(prompt_.size()));
      Must(answerer.UseAdapter(adapter));
      EXPECT_EQ(Must(answerer.Run(prompt_, {.max_tokens = 10})).tokens, first.tokens);
      EXPECT_EQ(answerer.timings().prompt_tokens - before, static_cast<int64_t>(prompt_.size()) + 1) << "the session stays";
      StreamOptions alone = Text(adapter);
      alone.text.ignore_end = false;
      EXPECT_EQ(first.tokens, lone_->Write(alone).tokens);
    }
  }
}

TEST_F(SessionAdapter, AnswersThatShareAPassHaveTheirOwn) {
  EngineOptions options = options_;
  options.workload = {};
  const ParallelOptions parallel = {.texts = 3};
  Must(PlanParallel(parallel, options));
  const auto engine = Must(Engine::Load(options));
  const auto answers = Must(ParallelAnswers::Create(*engine, parallel));
  std::vector<std::vector<TokenId>> tokens(2 * all_.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    answers->Add({.prompt = prompt_, .sampling = {.temperature = 0}, .max_tokens = 10, .adapter = all_[i % all_.size()],
                  .on_end = [&, i](const absl::StatusOr<TimedAnswer>& answer) { tokens[i] = Must(answer).text.tokens; }});
  }
  Must(answers->Run());
  for (size_t i = 0; i < tokens.size(); ++i) {
    StreamOptions alone = Text(all_[i % all_.size()]);
    alone.text.ignore_end = false;
    EXPECT_EQ(tokens[i], lone_->Write(alone).tokens) << i;
  }
}

}  // namespace
}  // namespace tessera
