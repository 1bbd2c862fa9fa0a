#include "tessera/runtime/session/session_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/session_files.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Logits = std::vector<float>;

Logits LogitsOf(const Session& session) { return {session.logits().begin(), session.logits().end()}; }
std::vector<TokenId> TokensOf(const Session& session) { return {session.tokens().begin(), session.tokens().end()}; }

// What a session writes next, to the last bit: greedy, sampled, with drafts that are right and wrong, and plainly.
struct Written {
  std::vector<TokenId> tokens;
  std::vector<Logits> logits;
  bool operator==(const Written&) const = default;
};

Written Continue(Session& session) {
  Written written;
  const auto generate = [&](const SamplingOptions& sampling, Speculator* speculator) {
    const GenerateOptions options = {.max_tokens = 12, .ignore_end = true, .speculator = speculator};
    const Generation result = Must(Generate(session, Must(Sampler::Create(sampling)), options));
    written.tokens.insert(written.tokens.end(), result.tokens.begin(), result.tokens.end());
    written.logits.push_back(LogitsOf(session));
  };
  generate({.temperature = 0}, nullptr);
  generate({.temperature = 0.8f, .seed = 7}, nullptr);
  Speculator speculator(std::make_unique<RandomDrafter>(kTinyVocabulary, 3), {.max_rows = 6, .weigh_costs = false});
  generate({.temperature = 0}, &speculator);
  Must(session.AppendEach(RandomTokens(9, 8), [&](int, absl::Span<const float> logits) {
    written.logits.emplace_back(logits.begin(), logits.end());
    return absl::OkStatus();
  }));
  return written;
}

class SessionFile : public testing::Test {
 protected:
  void WriteBytes(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  absl::Status LoadBytes(Engine& engine, const std::string& bytes) const {
    WriteBytes(bytes);
    return LoadSession(engine, path_).status();
  }

  // A session of `saver` is saved and goes on; so does the one that `loader` loads, which computes nothing again.
  void ExpectTheSame(Engine& saver, Engine& loader, int prompt, bool computes_again = false) {
    const auto session = Must(saver.NewSession());
    Must(session->Append(RandomTokens(prompt, 5)));
    Must(Generate(*session, Must(Sampler::Create({.temperature = 0})), {.max_tokens = 10, .ignore_end = true}));
    Must(SaveSession(*session, path_, "notes"));
    const int64_t rows = loader.stats().rows;
    const LoadedSession loaded = Must(LoadSession(loader, path_));
    EXPECT_EQ(loaded.notes, "notes");
    EXPECT_EQ(TokensOf(*loaded.session), TokensOf(*session));
    EXPECT_EQ(LogitsOf(*loaded.session), LogitsOf(*session));
    EXPECT_EQ(loader.stats().rows, rows);
    Must(loaded.session->Append({}));
    EXPECT_EQ(loader.stats().rows > rows, computes_again);
    EXPECT_EQ(Continue(*loaded.session), Continue(*session));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("story.session");
};

TEST_F(SessionFile, HeaderExample) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}}), other = TinyEngine({}, {.compute = {.threads = 1}});
  const Sampler sampler = Must(Sampler::Create({.temperature = 0}));
  const GenerateOptions options = {.max_tokens = 8};
  const auto session = Must(engine->NewSession());
  Must(session->Append({1, 2, 3}));
  const auto run = [&]() -> absl::StatusOr<Generation> {
    RETURN_IF_ERROR(SaveSession(*session, path_));
    ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(*other, path_));
    ASSIGN_OR_RETURN(Generation rest, Generate(*loaded.session, sampler, options));
    return rest;
  };
  const std::vector<TokenId> rest = Must(run()).tokens;
  EXPECT_EQ(rest, Must(Generate(*session, sampler, options)).tokens);
}

TEST_F(SessionFile, ASessionIsKnownByItsFirstBytes) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  EXPECT_TRUE(absl::IsNotFound(IsSessionFile(path_).status()));
  Must(SaveSession(*Must(engine->NewSession()), path_));
  EXPECT_TRUE(Must(IsSessionFile(path_)));
  for (const char* const other : {"", "tsr", "tsrsess", "# Notes\nof mine\n"}) {
    WriteBytes(other);
    EXPECT_FALSE(Must(IsSessionFile(path_))) << other;
  }
  EXPECT_FALSE(IsSessionFile(folder_.path()).ok()) << "a folder";
}

constexpr KvFormat kFormats[] = {KvFormat::kHalf, KvFormat::kInt8, KvFormat::kFloat};

EngineOptions WithFormat(KvFormat format) {
  EngineOptions options = {.compute = {.threads = 1}, .cache = {.context = 256}};
  if (format == KvFormat::kFloat) options.compute.path = ComputePath::kReference;
  else options.cache.kv_format = format;
  return options;
}

// Other rows of a pass, slots and a smaller context: none of them matters.
TEST_F(SessionFile, ALoadedSessionContinuesAsIfNeverStopped) {
  for (const KvFormat format : kFormats) {
    SCOPED_TRACE(KvFormatName(format));
    EngineOptions options = WithFormat(format);
    const auto saver = TinyEngine({.writes_letters = true}, options);
    options.compute.row_capacity = 16;
    options.cache.context = 128;
    options.hooks = Hooks({.scatter_seed = 9});
    const auto loader = TinyEngine({.writes_letters = true}, options);
    for (const int prompt : {1, 40}) {
      ExpectTheSame(*saver, *saver, prompt);
      ExpectTheSame(*saver, *loader, prompt);
      ExpectTheSame(*loader, *saver, prompt);
    }
  }
}

std::unique_ptr<Engine> Windowed(KvFormat format, int context, int sessions, uint64_t scatter_seed = 0) {
  EngineOptions options = WithFormat(format);
  options.compute.row_capacity = 8;
  options.cache.context = context;
  options.workload.sessions = sessions;
  if (scatter_seed != 0) options.hooks = Hooks({.scatter_seed = scatter_seed});
  return TinyEngine({.architecture = "gemma3", .layers = 6, .context = 512, .window = 24, .writes_letters = true}, options);
}

TEST_F(SessionFile, WindowsContinueFromTheirHeldPositions) {
  for (const KvFormat format : kFormats) {
    SCOPED_TRACE(KvFormatName(format));
    const auto small = Windowed(format, 384, 2), large = Windowed(format, 512, 2, /*scatter_seed=*/4), full = Windowed(format, 512, 100);
    ASSERT_EQ(CoreOf(*small).cache().groups(), 2);
    ASSERT_EQ(CoreOf(*full).cache().groups(), 1);
    for (const int prompt : {10, 200}) {
      ExpectTheSame(*small, *large, prompt);
      ExpectTheSame(*large, *small, prompt);
      ExpectTheSame(*full, *small, prompt);
      // A full cache has all positions. In passes of other rows the reference path would give other bits.
      if (prompt == 10 || format != KvFormat::kFloat) ExpectTheSame(*small, *full, prompt, /*computes_again=*/prompt > 10);
    }
  }
}

TEST_F(SessionFile, GoesFromMemoryToFlashAndBack) {
  const PackedTiny model({.width = 256, .feed_forward = 1024, .heads = 8, .kv_heads = 4, .head_size = 32, .writes_letters = true});
  EngineOptions options = {.model_path = model.gguf(), .compute = {.threads = 1}, .cache = {.context = 256}};
  const auto resident = Must(Engine::Load(options));
  options.model_path = model.packed();
  const auto packed = Must(Engine::Load(options));
  options.streaming = {.memory_budget = int64_t{4} << 30, .pin = PinPolicy::kNone};
  const auto streamed = Must(Engine::Load(options));
  ASSERT_NE(streamed->model().streamer(), nullptr);
  for (Engine* const saver : {resident.get(), packed.get(), streamed.get()}) {
    for (Engine* const loader : {resident.get(), packed.get(), streamed.get()}) ExpectTheSame(*saver, *loader, 40);
  }
}

// Saved after each kind of change, beside others that share what it has.
TEST_F(SessionFile, WhateverWasCutForkedOrDraftedBefore) {
  EngineOptions options = WithFormat(KvFormat::kHalf);
  options.cache.context = 512;
  for (const auto& engine : {TinyEngine({.writes_letters = true}, options), Windowed(KvFormat::kHalf, 512, 4)}) {
    const auto origin = Must(engine->NewSession());
    Must(origin->Append(RandomTokens(150, 2)));
    const auto fork = Must(origin->Fork(97));
    Must(fork->Append({4, 5, 6}));
    Must(SaveSession(*fork, path_));
    EXPECT_EQ(Continue(*Must(LoadSession(*engine, path_)).session), Continue(*fork));
    origin->Truncate(149);
    Must(SaveSession(*origin, path_));
    EXPECT_TRUE(Must(LoadSession(*engine, path_)).session->logits().empty());
    const auto loaded = Must(LoadSession(*engine, path_)).session;
    Must(loaded->Append({7}));
    Must(origin->Append({7}));
    EXPECT_EQ(Continue(*loaded), Continue(*origin));
  }
}

// Its windows are gone, so nothing that it holds is of use: the file has the tokens, and they are computed again.
TEST_F(SessionFile, ASessionThatHasLostItsWindowsIsSavedAsTokens) {
  const auto engine = Windowed(KvFormat::kHalf, 512, 2);
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(200, 2)));
  session->Truncate(60);
  Must(SaveSession(*session, path_));
  EXPECT_LT(BytesOfFile(path_).size(), 500u);
  const auto loaded = Must(LoadSession(*engine, path_)).session;
  Must(loaded->Append({7}));
  Must(session->Append({7}));
  EXPECT_EQ(LogitsOf(*loaded), LogitsOf(*session));
}

TEST_F(SessionFile, AnEmptySessionIsEmptyAgain) {
  const auto engine = SessionEngine();
  Must(SaveSession(*Must(engine->NewSession()), path_));
  const LoadedSession loaded = Must(LoadSession(*engine, path_));
  EXPECT_EQ(loaded.session->length(), 0);
  EXPECT_TRUE(loaded.session->logits().empty());
  EXPECT_EQ(loaded.notes, "");
  Must(loaded.session->Append({1}));
}

TEST_F(SessionFile, SavingAgainGivesTheSameBytes) {
  const auto engine = SessionEngine();
  const std::string good = GoodSession(*engine);
  WriteBytes(good);
  const LoadedSession loaded = Must(LoadSession(*engine, path_));
  Must(SaveSession(*loaded.session, path_, loaded.notes));
  EXPECT_EQ(BytesOfFile(path_), good);
}

TEST_F(SessionFile, ALoadedSessionIsCancelledAsItsOptionsSay) {
  const auto engine = SessionEngine();
  WriteBytes(GoodSession(*engine));
  const std::atomic<bool> cancel = true;
  const LoadedSession loaded = Must(LoadSession(*engine, path_, {.cancel = &cancel}));
  EXPECT_TRUE(absl::IsCancelled(loaded.session->Append({1})));
}

// That saved it, or that loads it with more room: to its context's end, and no further.
TEST_F(SessionFile, FitsWhereTheContextHasRoom) {
  EngineOptions options = WithFormat(KvFormat::kHalf);
  options.cache.context = 64;
  const auto saver = TinyEngine({}, options);
  const auto session = Must(saver->NewSession());
  Must(session->Append(RandomTokens(64, 1)));
  Must(SaveSession(*session, path_));
  options.cache.context = 256;
  const auto roomy = TinyEngine({}, options);
  const auto loaded = Must(LoadSession(*roomy, path_)).session;
  Must(loaded->Append(RandomTokens(192, 2)));
  options.cache.context = 48;
  const absl::Status refused = LoadSession(*TinyEngine({}, options), path_).status();
  EXPECT_EQ(refused.message(), path_ + ": context: found 64 tokens, expected at most 48");
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(LimitOf(refused), "context");
  const absl::Status full = LoadSession(*roomy, path_).status();
  EXPECT_EQ(full, absl::ResourceExhaustedError(path_ + ": KV cache: wanted 64 slots, found 0 free of 256"));
}

TEST_F(SessionFile, EveryBadFileIsRefusedByName) {
  const auto engine = SessionEngine();
  const std::vector<BadSession> bad = BadSessions(GoodSession(*engine));
  EXPECT_GE(bad.size(), 35u);
  for (const BadSession& file : bad) {
    const absl::Status status = LoadBytes(*engine, file.bytes);
    EXPECT_EQ(status.code(), file.code) << file.name << ": " << status;
    EXPECT_EQ(status.message(), path_ + ": " + file.message) << file.name;
  }
  EXPECT_EQ(CoreOf(*engine).cache().free_slots(), kSessionContext);
}

TEST_F(SessionFile, NoShortenedOrChangedFileIsBelieved) {
  const auto engine = SessionEngine();
  const std::string good = GoodSession(*engine);
  for (size_t i = 0; i < good.size(); ++i) {
    const absl::Status cut = LoadBytes(*engine, good.substr(0, i));
    ASSERT_TRUE(absl::IsDataLoss(cut) && absl::StartsWith(cut.message(), path_ + ": size: found ")) << i << ": " << cut;
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
    const absl::Status status = LoadBytes(*engine, changed);
    ASSERT_TRUE(i < 12 ? absl::IsInvalidArgument(status) : absl::IsDataLoss(status)) << i << ": " << status;
  }
  EXPECT_EQ(LoadBytes(*engine, good), absl::OkStatus());
}

TEST_F(SessionFile, OtherModelsOfTheSameShapeAreRefused) {
  const TinyModel model = {.layers = 3};
  const auto engine = TinyEngine(model, WithFormat(KvFormat::kHalf));
  const auto session = Must(engine->NewSession());
  Must(session->Append({1, 2, 3}));
  Must(SaveSession(*session, path_));
  const auto refused = [&](const TinyModel& other) { return LoadSession(*TinyEngine(other, WithFormat(KvFormat::kHalf)), path_).status(); };
  EXPECT_EQ(refused(model), absl::OkStatus());
  TinyModel other = model;
  other.seed = 2;
  EXPECT_TRUE(absl::IsInvalidArgument(refused(other)));
  EXPECT_TRUE(absl::StrContains(refused(other).message(), "model: found ")) << refused(other);
  other = model;
  other.layers = 2;
  EXPECT_EQ(refused(other).message(), path_ + ": layers: found 3, expected 2");
  for (const KvFormat format : {KvFormat::kInt8, KvFormat::kFloat}) {
    const absl::Status status = LoadSession(*TinyEngine(model, WithFormat(format)), path_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), format == KvFormat::kInt8 ? "format of keys and values: found FP16, expected 8-bit"
                                                                              : "device: found \"host\", expected \"reference\""))
        << status;
  }
}

TEST_F(SessionFile, AFailingWriteLeavesTheOldFile) {
  const auto engine = SessionEngine();
  const std::string good = GoodSession(*engine);
  WriteBytes(good);
  const auto session = Must(engine->NewSession());
  Must(session->Append({1}));
  const absl::Status longer = SaveSession(*session, path_, std::string(kLongestNotes + 1, 'x'));
  EXPECT_EQ(longer, absl::InvalidArgumentError(path_ + ": notes: found 16777217 bytes, expected at most 16777216"));
  EXPECT_EQ(BytesOfFile(path_), good);
  EXPECT_EQ(folder_.Files(), 1);
  const absl::Status missing = SaveSession(*session, folder_.Path("none/story.session"));
  EXPECT_TRUE(absl::StrContains(missing.message(), folder_.Path("none"))) << missing;
  EXPECT_TRUE(absl::IsInvalidArgument(SaveSession(*session, folder_.path())));
}

TEST_F(SessionFile, AFullDiskIsNamedAndLeavesTheOldFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer writes to pipes of its own, also in the thread that answers calls";
  const auto engine = SessionEngine();
  const std::string good = GoodSession(*engine);
  WriteBytes(good);
  const auto session = Must(engine->NewSession());
  Must(session->Append({1}));
  const auto full = [](pid_t, const seccomp_data& call) -> std::optional<int64_t> {
    return call.args[0] > STDERR_FILENO ? std::optional<int64_t>(-ENOSPC) : std::nullopt;
  };
  const auto save = [&] {
    std::cerr << SaveSession(*session, path_) << std::endl;
    _exit(BytesOfFile(path_) == good && folder_.Files() == 1 ? 0 : 1);
  };
  EXPECT_EXIT(WithAnswers({SCMP_SYS(write), SCMP_SYS(pwrite64)}, full, save), testing::ExitedWithCode(0),
              "story.session: .*No space left");
}

TEST_F(SessionFile, NoFileAndNoWeightsAreErrors) {
  const auto engine = SessionEngine();
  EXPECT_TRUE(absl::IsNotFound(LoadSession(*engine, path_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(LoadSession(*engine, folder_.path()).status()));
  TinyModelBuilder({}).WriteTo(folder_.Path("model.gguf"));
  const auto open = Must(Engine::Open({.model_path = folder_.Path("model.gguf")}));
  EXPECT_EQ(LoadSession(*open, path_).status(),
            absl::FailedPreconditionError("LoadSession: found no weights, expected LoadWeights before"));
}

// kNumericsVersion is a promise about these: raise it with them.
TEST_F(SessionFile, TheVersionOfTheNumericsIsThatOfTheGoldenBits) {
  const std::string bits = BytesOfFile(GoldenPath("tiny/logit_bits.jsonl"));
  const auto session = Must(TinyEngine({}, WithFormat(KvFormat::kInt8))->NewSession());
  Must(session->Append(RandomTokens(30, 1)));
  const uint32_t of_8_bit = Crc32c({reinterpret_cast<const std::byte*>(session->logits().data()), session->logits().size() * 4});
  EXPECT_EQ(kNumericsVersion, 1u);
  EXPECT_EQ(Crc32c({reinterpret_cast<const std::byte*>(bits.data()), bits.size()}), 4033775302u);
  EXPECT_EQ(of_8_bit, 2483031032u);
}

}  // namespace
}  // namespace tessera
