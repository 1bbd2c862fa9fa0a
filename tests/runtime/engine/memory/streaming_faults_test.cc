// What a device does wrong ends one request at most: not the process, not the session, and never with wrong bits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "absl/strings/numbers.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/engine/weight_plan.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/faulty_device.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

class StreamingFaults : public testing::Test {
 protected:
  EngineOptions Streamed() const {
    EngineOptions options = {.model_path = Packed().path(), .compute = {.threads = 1, .row_capacity = 8}, .cache = {.context = 64}};
    options.streaming.memory_budget = int64_t{4} << 30;
    options.streaming.pin = PinPolicy::kNone;
    options.hooks = Hooks({.wrap_device = [this](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<BreakableDevice>(std::move(device), breaker_);
    }});
    return options;
  }

  // The logits after each of `more`, appended one by one to a prompt, with all weights in memory.
  static std::vector<std::vector<float>> Expected(const std::vector<TokenId>& prompt, const std::vector<TokenId>& more) {
    const auto engine = Must(Engine::Load({.model_path = Packed().gguf(), .compute = {.threads = 1}, .cache = {.context = 64}}));
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    std::vector<std::vector<float>> expected;
    for (const TokenId& token : more) {
      Must(session->Append({&token, 1}));
      expected.emplace_back(session->logits().begin(), session->logits().end());
    }
    return expected;
  }

  // A model with so many layers that the ring holds only a part of them.
  static const PackedModel& Packed() {  // Once for all, but not before main.
    static const PackedModel packed(TinyModelBuilder({.layers = 8, .writes_letters = true}));
    return packed;
  }
  mutable Breaker breaker_;
};

TEST_F(StreamingFaults, AReadErrorAtAnyReadOfAPassFailsItsRequestAndNothingElse) {
  const std::vector<TokenId> prompt = RandomTokens(11, 1), more = RandomTokens(6, 2);
  const std::vector<std::vector<float>> expected = Expected(prompt, more);
  const auto engine = Must(Engine::Load(Streamed()));
  int64_t reads_of_a_pass = 1;
  for (int64_t read = 0; read < reads_of_a_pass; ++read) {
    SCOPED_TRACE(read);
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    const int64_t before = breaker_.reads();
    int failures = 0;
    breaker_.BreakReadFromNow(read);
    for (size_t i = 0; i < more.size(); ++i) {
      absl::Status status = session->Append({&more[i], 1});
      if (!status.ok()) {
        ++failures;
        EXPECT_TRUE(absl::IsUnavailable(status)) << status;
        for (const char* named : {Packed().path().c_str(), ": unit ", ".weight", "byte ", "Input/output error"}) {
          EXPECT_NE(status.message().find(named), std::string::npos) << named << " in " << status;
        }
        ASSERT_EQ(session->length(), static_cast<int>(prompt.size() + i));
        breaker_.Repair();
        status = session->Append({&more[i], 1});
      }
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(session->logits(), absl::MakeConstSpan(expected[i])) << i;
    }
    EXPECT_EQ(failures, 1);
    reads_of_a_pass = std::max(reads_of_a_pass, (breaker_.reads() - before) / static_cast<int64_t>(more.size()));
  }
  EXPECT_GE(reads_of_a_pass, 10) << "embeddings, layers and the head at least";
}

TEST_F(StreamingFaults, AGenerationThatFailsLeavesASessionThatGoesOn) {
  const Sampler sampler = Must(Sampler::Create({.temperature = 0.7f, .seed = 3}));
  const std::vector<TokenId> prompt = RandomTokens(9, 4);
  const GenerateOptions options = {.max_tokens = 12, .ignore_end = true};
  const auto resident = Must(Engine::Load({.model_path = Packed().gguf(), .compute = {.threads = 1}, .cache = {.context = 64}}));
  const auto whole = Must(resident->NewSession());
  Must(whole->Append(prompt));
  const std::vector<TokenId> expected = Must(Generate(*whole, sampler, options)).tokens;
  const auto engine = Must(Engine::Load(Streamed()));
  const auto session = Must(engine->NewSession());
  Must(session->Append(prompt));
  breaker_.BreakReadFromNow(12);  // In the generation, however far the prompt's last pass has read ahead.
  const absl::StatusOr<Generation> failed = Generate(*session, sampler, options);
  EXPECT_TRUE(absl::IsUnavailable(failed.status())) << failed.status();
  EXPECT_GE(session->length(), static_cast<int>(prompt.size()));
  EXPECT_FALSE(session->logits().empty());
  breaker_.Repair();
  session->Truncate(0);
  Must(session->Append(prompt));
  EXPECT_EQ(Must(Generate(*session, sampler, options)).tokens, expected);
}

TEST_F(StreamingFaults, AFileWrittenToDuringStreamingEndsTheRequestAndNoTokenIsWrong) {
  const PackedModel packed(TinyModelBuilder({.layers = 8}));
  const auto resident = Must(Engine::Load({.model_path = packed.gguf(), .compute = {.threads = 1}, .cache = {.context = 64}}));
  EngineOptions options = Streamed();
  options.model_path = packed.path();
  options.streaming.verify = VerifyPolicy::kNever;
  const auto engine = Must(Engine::Load(options));
  const auto session = Must(engine->NewSession()), expected = Must(resident->NewSession());
  Must(session->Append({3}));
  Must(expected->Append({3}));
  WaitForLaterFileTime(packed.path());
  std::fstream(packed.path(), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(1 << 16)
      .write(std::string(1 << 16, 'x').data(), 1 << 16);
  absl::Status status;
  for (TokenId token = 0; token < 20 && status.ok(); ++token) {
    status = session->Append({token});
    Must(expected->Append({token}));
    if (!status.ok()) continue;
    ASSERT_EQ(session->logits(), expected->logits());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find(packed.path()), std::string::npos) << status;
}

// A plan, a device and its faults that follow from a seed.
LayerStreamer::Options Faulty(const StreamNeeds& needs, uint64_t seed) {
  const int64_t bytes = LeastStreamBytes(needs) + static_cast<int64_t>(seed % 3) * needs.total_bytes / 4;
  StreamPlan plan = Must(PlanStreaming(needs, bytes, static_cast<PinPolicy>(seed % 4)));
  LayerStreamer::Options options = {.pins = std::move(plan.pins), .parts_only = std::move(plan.parts_only), .ring_bytes = plan.ring_bytes,
                                    .verify = VerifyPolicy::kAlways, .io = seed % 2 == 0 ? IoKind::kAuto : IoKind::kBuffered,
                                    .depth = 1 + static_cast<int>(seed % 8)};
  options.wrap_device = WithFaults({.seed = seed,
                                    .short_read = 0.1,
                                    .interruption = 0.1,
                                    .io_error = 0.15,
                                    .invalid = 0.05,
                                    .bit_flip = 0.1,
                                    .zeroed_sector = 0.05,
                                    .misdirection = 0.05,
                                    .reordering = 0.2});
  return options;
}

// The logits after each token.
std::vector<std::vector<float>> InMemory(const LoadedWeights& model, const std::vector<TokenId>& tokens) {
  std::vector<std::vector<float>> logits;
  Machine machine(model, {});
  const KvCache::SequenceId sequence = machine.cache().NewSequence();
  for (const TokenId& token : tokens) logits.push_back(machine.Extend(sequence, {&token, 1})[0]);
  return logits;
}

// Passes over a small file by a device that does all that devices do. TESSERA_SOAK_PASSES makes it longer.
TEST_F(StreamingFaults, ThousandsOfPassesGiveRightBitsOrATypedError) {
  constexpr int kSequence = 24;
  int64_t passes = Fewer(2000, 300);
  if (const char* asked = std::getenv("TESSERA_SOAK_PASSES")) CHECK(absl::SimpleAtoi(asked, &passes));
  const LoadedWeights model(Packed().gguf());
  const StreamNeeds needs = WeightNeedsOf(model.config(), model.layout());
  const std::unique_ptr<TsrReader> file = Must(TsrReader::Open(Packed().path()));
  const std::vector<TokenId> tokens = RandomTokens(kSequence, 5);
  const std::vector<std::vector<float>> expected = InMemory(model, tokens);
  std::map<absl::StatusCode, int64_t> outcomes;
  int64_t retries = 0;
  for (uint64_t seed = 1; passes > 0; ++seed) {
    const absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(*file, Faulty(needs, seed));
    if (!source.ok()) {
      ++outcomes[source.status().code()];
      --passes;
      continue;
    }
    Machine machine(model, {.source = source->get()});
    const KvCache::SequenceId sequence = machine.cache().NewSequence();
    for (int i = 0; i < 200 && passes > 0; ++i, --passes) {
      const int at = machine.cache().Length(sequence);
      const absl::StatusOr<std::vector<float>> logits = machine.TryExtend(sequence, tokens[at]);
      ++outcomes[logits.status().code()];
      if (logits.ok()) {
        ASSERT_EQ(*logits, expected[at]) << "seed " << seed;
      }
      if (at + 1 == kSequence) machine.cache().Truncate(sequence, 0);
    }
    retries += (*source)->stats().retries;
  }
  for (const auto& [code, count] : outcomes) {
    std::cout << absl::StatusCodeToString(code) << ": " << count << " passes\n";
    EXPECT_TRUE(code == absl::StatusCode::kOk || code == absl::StatusCode::kUnavailable) << absl::StatusCodeToString(code);
  }
  EXPECT_GT(outcomes[absl::StatusCode::kOk], 100);
  EXPECT_GT(outcomes[absl::StatusCode::kUnavailable], 0);
  EXPECT_GT(retries, 100);
}

}  // namespace
}  // namespace tessera
