// A stream, driven by hand: what it wants, and what it makes of logits.
#include "tessera/runtime/scheduler/stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// An oracle that counts how often it is told of a text.
class BeginningsCounter : public ScriptedDrafter {
 public:
  BeginningsCounter(std::vector<TokenId> text, int& prefixes) : ScriptedDrafter(std::move(text)), prefixes_(prefixes) {}
  void Begin(absl::Span<const TokenId> text) override {
    ++prefixes_;
    ScriptedDrafter::Begin(text);
  }

 private:
  int& prefixes_;
};

class StreamTest : public testing::Test {
 protected:
  StreamTest() : engine_(TinyEngine({.layers = 2, .writes_letters = true}, {.compute = {.threads = 1}, .cache = {.context = 128}})) {}

  // A pass over the rows, whose logits are given until the stream has all it needs.
  absl::Status RunPass(Stream& stream, absl::Span<const PassRow> rows) {
    EngineCore& core = CoreOf(*engine_);
    ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, nullptr));
    std::vector<int> wanted;
    stream.AddWanted(wanted);
    ASSIGN_OR_RETURN(const HiddenRows done, pass.Finish(wanted));
    const int64_t vocabulary = engine_->config().vocabulary;
    while (true) {
      const absl::Span<const int> asked = stream.WantsLogits(32);
      if (asked.empty()) return absl::OkStatus();
      std::vector<float> logits(asked.size() * vocabulary);
      const TensorView<float> view(logits.data(), static_cast<int64_t>(asked.size()), vocabulary);
      RETURN_IF_ERROR(core.runner().Logits(done, asked, view));
      if (ahead_) stream.ChooseAhead(view);
      RETURN_IF_ERROR(stream.Give(view, {}));
    }
  }

  Generation Alone(const std::vector<TokenId>& prompt, const GenerateOptions& options) {
    const auto session = Must(engine_->NewSession());
    Must(session->Append(prompt));
    return Must(Generate(*session, Must(Sampler::Create({.temperature = 0})), options));
  }

  const std::unique_ptr<Engine> engine_;
  bool ahead_ = false;   // Tokens are chosen ahead.
};

TEST_F(StreamTest, HeaderExample) {
  EngineCore& core = CoreOf(*engine_);
  const std::vector<TokenId> tokens = RandomTokens(9, 3);
  const TreeRoom room = {.rows = 8, .depth = 7};
  const CostProfile costs;
  const StepTime time;
  Generation written;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                     Stream::Create(core, {.prompt = tokens, .sampling = {.temperature = 0}, .text = {.max_tokens = 12}}));
    stream->Start(/*begun=*/nullptr);
    while (!stream->finished()) {
      std::vector<PassRow> rows;
      RETURN_IF_ERROR(core.cache().MakeRoom(8));
      if (stream->pending() > 0) RETURN_IF_ERROR(stream->PlaceChunk(std::min(stream->pending(), 4), rows));
      else RETURN_IF_ERROR(stream->PlaceTree(ChooseRows(stream->Draft(room), costs, {}), rows));
      RETURN_IF_ERROR(RunPass(*stream, rows));
      stream->Settle(absl::OkStatus(), time);
    }
    stream->End(absl::OkStatus());
    written = stream->result();
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(written.tokens, Alone(tokens, {.max_tokens = 12}).tokens);
}

TEST_F(StreamTest, AFailedPassLeavesTheStreamUnchanged) {
  const auto stream = Must(Stream::Create(CoreOf(*engine_), {.prompt = {1, 2, 3, 4}, .sampling = {.temperature = 0}}));
  stream->Start(nullptr);
  std::vector<PassRow> rows;
  Must(stream->PlaceChunk(3, rows));
  stream->Settle(absl::UnavailableError("unit 7"), {});
  EXPECT_EQ(stream->pending(), 4);
}

TEST_F(StreamTest, APreemptedSequenceContinuesAtItsOldPosition) {
  const std::vector<TokenId> prompt = RandomTokens(6, 4);
  EngineCore& core = CoreOf(*engine_);
  const auto stream = Must(Stream::Create(core, {.prompt = prompt, .sampling = {.temperature = 0}, .text = {.max_tokens = 8}}));
  stream->Start(nullptr);
  for (int step = 0; !stream->finished(); ++step) {
    if (step == 4) {
      stream->Preempt();
      EXPECT_TRUE(stream->waits());
      stream->Start(nullptr);
    }
    std::vector<PassRow> rows;
    Must(core.cache().MakeRoom(8));
    if (stream->pending() > 0) Must(stream->PlaceChunk(std::min(stream->pending(), 5), rows));
    else stream->Draft({.rows = 1, .depth = 0}), Must(stream->PlaceTree({}, rows));
    Must(RunPass(*stream, rows));
    stream->Settle(absl::OkStatus(), {});
  }
  EXPECT_EQ(stream->result().tokens, Alone(prompt, {.max_tokens = 8}).tokens);
}

// Told of its text again, a drafter would have it twice, and not know where it is.
TEST_F(StreamTest, ASpeculatorIsToldOnceOfAPreemptedText) {
  const std::vector<TokenId> prompt = RandomTokens(6, 4), expected = Alone(prompt, {.max_tokens = 20, .ignore_end = true}).tokens;
  EngineCore& core = CoreOf(*engine_);
  int prefixes = 0;
  Speculator speculator(std::make_unique<BeginningsCounter>(expected, prefixes), {.max_rows = 3, .weigh_costs = false});
  const auto stream = Must(Stream::Create(core, {.prompt = prompt, .sampling = {.temperature = 0},
                                                 .text = {.max_tokens = 20, .ignore_end = true, .speculator = &speculator}}));
  const CostProfile costs;
  stream->Start(nullptr);
  for (int step = 0; !stream->finished(); ++step) {
    if (step == 3) {
      stream->Preempt();
      stream->Start(nullptr);
    }
    std::vector<PassRow> rows;
    Must(core.cache().MakeRoom(32));
    if (stream->pending() > 0) Must(stream->PlaceChunk(stream->pending(), rows));
    else Must(stream->PlaceTree(ShareRows({stream->ToCut(stream->Draft({.rows = 3, .depth = 2}))}, costs, {.most_rows = 3})[0], rows));
    Must(RunPass(*stream, rows));
    stream->Settle(absl::OkStatus(), {});
  }
  EXPECT_EQ(stream->result().tokens, expected);
  EXPECT_EQ(prefixes, 1);
  EXPECT_EQ(stream->result().passes, 7) << "of three tokens each, but for the first token and the last pass";
}

TEST_F(StreamTest, ChoosingAheadChangesNoChoice) {
  const std::vector<TokenId> prompt = RandomTokens(6, 4);
  const SamplingOptions sampling = {.temperature = 1, .repetition_penalty = 1.2f, .seed = 8};
  EngineCore& core = CoreOf(*engine_);
  std::vector<std::vector<TokenId>> texts;
  for (const bool ahead : {false, true}) {
    for (const bool drafts : {false, true}) {
      ahead_ = ahead;
      Speculator speculator(std::make_unique<RandomDrafter>(engine_->config().vocabulary, 3, texts.empty() ? prompt : texts[0]),
                            {.max_rows = 6, .weigh_costs = false});
      const auto stream = Must(Stream::Create(core, {.prompt = prompt, .sampling = sampling,
                                                     .text = {.max_tokens = 20, .speculator = drafts ? &speculator : nullptr}}));
      stream->Start(nullptr);
      while (!stream->finished()) {
        std::vector<PassRow> rows;
        Must(core.cache().MakeRoom(8));
        const CostProfile costs;
        if (stream->pending() > 0) Must(stream->PlaceChunk(std::min(stream->pending(), 4), rows));
        else Must(stream->PlaceTree(ShareRows({stream->ToCut(stream->Draft({.rows = 6, .depth = 5}))}, costs, {.most_rows = 6})[0], rows));
        Must(RunPass(*stream, rows));
        stream->Settle(absl::OkStatus(), {});
      }
      texts.push_back(stream->result().tokens);
    }
  }
  for (const std::vector<TokenId>& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST_F(StreamTest, AnImpossibleRequestIsRefusedWithTheFoundValue) {
  EngineCore& core = CoreOf(*engine_);
  EXPECT_EQ(Stream::Create(core, {}).status().message(), "stream: found a prompt without tokens, expected at least one");
  EXPECT_EQ(Stream::Create(core, {.prompt = {1, -2}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Stream::Create(core, {.prompt = std::vector<TokenId>(129, 1)}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Stream::Create(core, {.prompt = {1}, .sampling = {.temperature = -1}}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
