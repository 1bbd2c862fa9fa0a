// Texts that a draft head of the EAGLE-3 kind drafts for, which is told of their passes: each is the text of plain decoding.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/draft/eagle_expander.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/prompt.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/eagle_builder.h"
#include "tessera/tests/fakes/small_texts.h"
#include "tessera/tests/fakes/timeline_events.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

const EagleSizes kLetterHead = {.vocabulary = 26, .first_token = 'a', .step = 1};

std::shared_ptr<const EagleHead> HeadFor(const Engine& engine) {
  const EagleBuilder builder(kLetterHead);
  const std::string bytes = builder.File();
  const auto file = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "head"));
  return Must(EagleHead::Read(*file, builder.Config(), "head.json", engine.config()));
}

// A speculator of a head, and what the head did.
struct Headed {
  Headed(Engine& engine, const std::string& tree) {
    auto expander = std::make_unique<EagleExpander>(HeadFor(engine), EagleExpander::OptionsFor(CoreOf(engine)));
    head = expander.get();
    auto drafter = std::make_unique<ExpandingDrafter>(std::move(expander), Must(MakeTreePolicy(tree, {})), ExpandingDrafter::Options());
    speculator = std::make_unique<Speculator>(std::move(drafter), Speculator::Options{.max_rows = 12, .weigh_costs = false});
  }
  EagleExpander* head;
  std::unique_ptr<Speculator> speculator;
};

TEST(EagleTexts, HaveTheBitsOfPlainDecoding) {
  const auto engine = SmallEngine();
  const std::vector<TokenId> prompt = RandomTokens(20, 3);
  PromptWriter writer(*engine, prompt);
  for (const float temperature : {0.0f, 0.8f}) {
    const SamplingOptions sampling = {.temperature = temperature, .seed = 5};
    const WrittenText plain = writer.Write(sampling, {.max_tokens = 40}, nullptr);
    for (const char* tree : {"chain:tokens=4", "eagle2:width=4,depth=3,nodes=12", "edgellm:threshold=0.05"}) {
      Headed headed(*engine, tree);
      EXPECT_EQ(headed.speculator->listener(), headed.head);
      EXPECT_EQ(writer.WriteWith(sampling, {.max_tokens = 40}, headed.speculator.get()), plain) << tree;
      EXPECT_GT(headed.head->text_rows(), 10) << tree;
    }
  }
}

// A head that hears of the whole prompt has a row for each of its tokens but the first.
TEST(EagleTexts, ThePromptIsToldThroughItsSession) {
  const auto engine = SmallEngine();
  const std::vector<TokenId> prompt = RandomTokens(75, 3);   // Three passes.
  Headed headed(*engine, "chain:tokens=4");
  const auto session = Must(engine->NewSession());
  Must(AppendPrompt(*session, headed.speculator.get(), prompt));
  EXPECT_EQ(session->listener(), nullptr);
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  Must(Generate(*session, greedy, {.max_tokens = 40, .ignore_end = true, .speculator = headed.speculator.get()}));
  EXPECT_GE(headed.head->held(), 75 + 25);
  EXPECT_GT(headed.head->tree_rows(), 10);
  EXPECT_EQ(headed.speculator->report().sources[0].account.failures, 0);
}

TEST(EagleTexts, ATraceHasTheRowsThatAHeadComputes) {
  const auto engine = SmallEngine();
  Timeline timeline({});
  CoreOf(*engine).SetTimeline(&timeline);
  Headed headed(*engine, "chain:tokens=4");
  const auto session = Must(engine->NewSession());
  Must(AppendPrompt(*session, headed.speculator.get(), RandomTokens(30, 3)));
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  Must(Generate(*session, greedy, {.max_tokens = 20, .ignore_end = true, .speculator = headed.speculator.get()}));
  int64_t rows = 0;
  for (const TimelineEvent& event : OfZone(timeline.Events(), Zone::kDraft)) rows += event.detail;
  EXPECT_GT(headed.head->tree_rows(), 0);
  EXPECT_GT(rows, headed.head->text_rows() + headed.head->tree_rows()) << "and those of which it was told";
  CoreOf(*engine).SetTimeline(nullptr);
}

TEST(EagleTexts, TextsOfAStepperHaveHeadsOfTheirOwn) {
  constexpr int kTexts = 4;
  const auto engine = SmallEngine();
  std::vector<Headed> headed;
  Answers answers;
  const auto stepper = Must(Stepper::Create(*engine, {}));
  for (int number = 0; number < kTexts; ++number) {
    headed.emplace_back(*engine, number % 2 == 0 ? "chain:tokens=4" : "specinfer");
    StreamOptions options = TextNumber(number);
    options.text.speculator = headed.back().speculator.get();
    options.on_end = answers.Keep(number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  ASSERT_EQ(answers.texts.size(), static_cast<size_t>(kTexts));
  for (int number = 0; number < kTexts; ++number) {
    EXPECT_EQ(answers.texts[number].tokens, Alone(TextNumber(number)).tokens) << number;
    EXPECT_GT(headed[number].head->tree_rows(), 0) << number;
  }
}

// Notes what the first layer makes of each token of a text.
class Notes : public LayerListener {
 public:
  struct Token {
    TokenId token = 0;
    std::vector<float> state = {};
    bool operator==(const Token&) const = default;
  };
  absl::Span<const int> layers() const override { return layers_; }
  void BeginPass(int rows) override { told_.assign(static_cast<size_t>(rows), {}); }
  void Take(int /*index*/, int row, absl::Span<const float> state) override {
    told_[static_cast<size_t>(row)].assign(state.begin(), state.end());
  }
  void EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) override {
    ASSERT_GE(text.size(), static_cast<size_t>(first)) << "a gap";
    text.resize(static_cast<size_t>(first));
    for (size_t i = 0; i < rows.size(); ++i) text.push_back({tokens[i], told_[static_cast<size_t>(rows[i])]});
    ++passes;
  }

  std::vector<Token> text;
  int passes = 0;

 private:
  const std::vector<int> layers_ = {1};
  std::vector<std::vector<float>> told_;
};

TEST(SessionListener, HearsOfEachTokenOnceAndOfTruncation) {
  const auto engine = SmallEngine();
  const std::vector<TokenId> tokens = RandomTokens(50, 8);
  Notes whole, parts;
  const auto at_once = Must(engine->NewSession()), in_parts = Must(engine->NewSession());
  at_once->SetListener(&whole);
  in_parts->SetListener(&parts);
  Must(at_once->Append(tokens));
  EXPECT_GE(whole.passes, 2);   // They have 32 rows at most.
  ASSERT_EQ(whole.text.size(), tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(whole.text[i].token, tokens[i]);
  Must(in_parts->Append(absl::MakeConstSpan(tokens).first(20)));
  Must(in_parts->Append(RandomTokens(7, 9)));
  EXPECT_EQ(parts.text.size(), 27u);
  in_parts->Truncate(20);
  Must(in_parts->Append(absl::MakeConstSpan(tokens).subspan(20)));
  EXPECT_TRUE(parts.text == whole.text);
  in_parts->SetListener(nullptr);
  Must(in_parts->Append({{3}}));
  EXPECT_EQ(parts.text.size(), tokens.size());
}

TEST(SessionListener, HearsThatATreeAndAFailedPassLeaveNothing) {
  std::atomic<bool> cancel = false;
  const auto engine = SmallEngine();
  Notes notes;
  const auto session = Must(engine->NewSession({.cancel = &cancel}));
  session->SetListener(&notes);
  Must(session->Append(RandomTokens(10, 8)));
  const std::vector<Notes::Token> before = notes.text;
  TokenTree tree(5);
  tree.Add(TokenTree::kRoot, 6, 0.5f);
  Must(session->PassTree(tree));
  session->Keep({}, {});
  EXPECT_TRUE(notes.text == before);
  cancel = true;
  EXPECT_FALSE(session->Append(RandomTokens(4, 1)).ok());
  EXPECT_TRUE(notes.text == before);
  EXPECT_EQ(notes.passes, 3);
}

}  // namespace
}  // namespace tessera
