// Ctrl-C, SIGTERM, a terminal that closes and a reader that goes away, in every phase of every program.
//
// A program that is not at its end kGraceMillis after a signal is ended by the thread that hears signals (interrupt_test.cc). Here each
// phase, none of which ends by itself so soon, leaves that thread free: the end comes by the signal. Moments are counted in the time for
// which the program computes, so that a busy machine meets it at the same ones.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

static_assert(kGraceMillis <= 150, "a person who waits sees the end within 200 ms");
constexpr int kTries = 5;
constexpr int64_t kMostMicros = 400'000;   // A signal comes after so much computing at most.

struct Phase {
  const char* name;
  const char* program;
  std::vector<std::string> arguments;
  bool makes_file = false;
};

class Signals : public ::testing::Test {
 protected:
  std::string LongText(const std::string& name, int words) const {
    std::ofstream file(folder_.Path(name));
    for (int i = 0; i < words; ++i) file << " word" << i % 10;
    return folder_.Path(name);
  }
  std::vector<Phase> Phases() const;

  const TemporaryFolder folder_;
};

// Each lasts for many seconds unless something ends it.
std::vector<Phase> Signals::Phases() const {
  const std::string tiny = "--model=" + TinyPath("llama"), text = LongText("text", 50'000), book = LongText("book", 5'000'000);
  return {
      {"waiting for a prompt", "tessera_generate", {tiny}},
      {"waiting for requests", "tessera_generate", {tiny, "--jsonl"}},
      {"computing a prompt", "tessera_generate", {tiny, "--prompt_file=" + text, "--context=1000000"}},
      {"generating", "tessera_generate", {tiny, "--prompt=the", "--temperature=0", "--n_predict=0", "--context=1000000"}},
      {"generating for JSON",
       "tessera_generate",
       {tiny, "--prompt=the", "--temperature=0", "--n_predict=0", "--context=1000000", "--json"}},
      {"scoring a text", "tessera_perplexity", {tiny, "--prompt_file=" + text, "--max_windows=0", "--path=reference"}},
      {"computing logits", "tessera_logits", {tiny, "--prompt_file=" + text, "--context=1000000"}},
      {"encoding a text, then blocked by its reader", "tessera_tokenize", {tiny, "--prompt_file=" + book}},
      {"timing a prompt", "tessera_bench speed", {tiny, "--prompt_tokens=1000000"}},
      {"timing, to trace it", "tessera_bench speed", {tiny, "--prompt_tokens=1000000", "--trace=" + folder_.Path("trace")}, true},
      {"writing a model", "tessera_random_model", {"--shape=4b", "--out=" + folder_.Path("model")}, true},
  };
}

// Ends a run by `signal` once it has come to a moment. SIGPIPE comes from the test's closing its end of standard output.
void ExpectEnd(const Phase& phase, int signal, const std::function<bool(Program& program)>& comes_to_moment) {
  SCOPED_TRACE(absl::StrCat(phase.name, ", signal ", signal));
  Program program(phase.program, phase.arguments);
  if (!comes_to_moment(program)) {
    ADD_FAILURE() << "the phase is too short for this test: " << program.Finish("").errors;
    return;
  }
  if (signal == SIGPIPE) program.CloseOutput(); else program.Signal(signal);
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + signal);
}

// After so much computing.
void ExpectEnd(const Phase& phase, int signal, int64_t micros) {
  SCOPED_TRACE(absl::StrCat("after ", micros, " us of computing"));
  ExpectEnd(phase, signal, [micros](Program& program) { return program.Computes(micros); });
}

TEST_F(Signals, EndEveryProgramInEveryPhase) {
  SeededRandom random(7);
  for (const Phase& phase : Phases()) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      if (signal == SIGPIPE && phase.makes_file) continue;  // That is written all the same.
      const int64_t micros = random.Below(kMostMicros);
      ExpectEnd(phase, signal, [micros](Program& program) { return program.ComputesOrWaits(micros); });
    }
  }
  EXPECT_EQ(folder_.Files(), 2) << "the two texts: no trace, no model, and no temporary file";
}

TEST_F(Signals, EndARealModelDuringLoadingAndDuringAPass) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Phase phase = {"real model", "tessera_generate",
                       {"--model=" + model, "--threads=1", "--raw", "--n_predict=0", "--prompt_file=" + LongText("prompt", 3'500)}};
  for (int64_t micros : {50'000, 300'000, 1'000'000, 2'000'000}) {  // From the file's metadata to a pass of 512 rows.
    for (int signal : {SIGINT, SIGTERM}) ExpectEnd(phase, signal, micros);
  }
}

// The flash is slow, so that a thread waits for it nearly always: for a pin, the rows of an embedding or a layer.
TEST_F(Signals, EndAStreamedModelDuringLoadingAndDuringAWaitForTheFlash) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const PackedModel packed(model);
  const std::string flash = folder_.Path("slow");
  std::ofstream(flash) << "name: \"slow\" speed { block_bytes: 1048576 depth: 1 megabytes_per_second: 200 source: \"this test\" }";
  struct Moment { int64_t micros; const char* io; };
  for (const auto& [micros, io] : {Moment{60'000, "auto"}, {95'000, "pread"}, {130'000, "buffered"}, {200'000, "auto"}}) {
    const Phase phase = {"streaming", "tessera_generate",
                         {"--model=" + packed.path(), "--memory_budget=150MiB", "--context=512", "--threads=1", "--raw", "--n_predict=0",
                          "--temperature=0", "--prompt=The war", "--verify=always", "--flash=" + flash, std::string("--io=") + io}};
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) ExpectEnd(phase, signal, micros);
  }
}

// Some hundredths of a second of computing, from a file that no process has read, on a disk whose speed is unknown.
TEST_F(Signals, EndAStreamedModelWhileItsFlashIsProbed) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const PackedModel packed(model);
  for (int64_t micros : {50'000, 65'000, 80'000, 95'000}) {
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) {
      const CacheFolderFor unknown(folder_.Path(absl::StrCat("cache", micros, "_", signal)));
      const Phase phase = {"probing", "tessera_generate",
                           {"--model=" + packed.path(), "--memory_budget=300MiB", "--context=512", "--threads=1", "--n_predict=0",
                            "--temperature=0", "--prompt=The war", "--raw"}};
      ExpectEnd(phase, signal, micros);
    }
  }
}

// In order: a trace that is asked for is written, however far the text was scored.
TEST_F(Signals, EndAStreamedScoringInOrder) {
  const PackedModel packed(TinyPath("llama"));
  const std::string flash = folder_.Path("slow"), trace = folder_.Path("trace");
  std::ofstream(flash) << "name: \"slow\" speed { block_bytes: 1048576 depth: 1 megabytes_per_second: 10 source: \"this test\" }";
  for (const char* name : {"tessera_perplexity", "tessera_logits"}) {
    std::vector<std::string> flags = {"--model=" + packed.path(), "--memory_budget=200MiB", "--context=200000", "--threads=1", "--pin=none",
                                      "--prompt_file=" + LongText("text", 20'000), "--flash=" + flash, "--trace=" + trace};
    if (name == std::string("tessera_perplexity")) flags.insert(flags.end(), {"--max_windows=0", "--window=4"});
    bool in_order = false;
    for (int i = 0; i < kTries && !in_order; ++i) {
      ExpectEnd({name, name, flags}, SIGINT, 250'000);
      in_order = std::filesystem::remove(trace);
    }
    EXPECT_TRUE(in_order) << name << ": found no trace";
  }
}

// The check computes for about a tenth of a second in all.
TEST_F(Signals, EndTheCheckOfAModelFile) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Phase phase = {"verifying", "tessera_inspect", {"--model=" + model, "--verify", "--threads=1"}};
  for (int signal : {SIGINT, SIGTERM, SIGPIPE}) ExpectEnd(phase, signal, 50'000);
}

// Packing computes for about a third of a second in all.
TEST_F(Signals, EndThePackingOfAModel) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Phase phase = {"packing", "tessera_pack", {"--model=" + model, "--out=" + folder_.Path("packed"), "--threads=1"}};
  for (int signal : {SIGINT, SIGTERM}) ExpectEnd(phase, signal, 150'000);
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(Signals, AReaderThatGoesLeavesTheTraceOfAnAnswerThatWouldNotEnd) {
  const std::string trace = folder_.Path("trace");
  Program program("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=the", "--temperature=0", "--n_predict=0",
                                       "--context=1000000", "--trace=" + trace});
  EXPECT_TRUE(program.ComputesOrWaits(kMostMicros));
  program.CloseOutput();
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + SIGPIPE);
  EXPECT_TRUE(std::filesystem::exists(trace));
}

TEST_F(Signals, ADialogueEndsBySigtermAndWithItsReader) {
  const Phase phase = {"waiting for a message", "tessera_generate", {"--model=" + TinyPath("llama"), "--chat", "--chat_template=chatml"}};
  for (int signal : {SIGTERM, SIGHUP, SIGPIPE}) ExpectEnd(phase, signal, &Program::FallsAsleep);
}

// A program whose output nobody reads cannot end in order, but ends all the same.
TEST_F(Signals, EndAnAnswerThatNobodyReads) {
  const Phase phase = {"blocked in a write", "tessera_generate",
                       {"--model=" + TinyPath("llama"), "--prompt=the", "--temperature=0", "--n_predict=0", "--context=1000000"}};
  ExpectEnd(phase, SIGINT, &Program::FillsOutput);
}

TEST_F(Signals, OneThatIsIgnoredStaysIgnored) {
  Program program("tessera_generate", {"--jsonl", "--model=" + TinyPath("llama")}, [] { signal(SIGHUP, SIG_IGN); });
  EXPECT_TRUE(program.FallsAsleep());   // It waits for requests.
  program.Signal(SIGHUP);
  const Ended ended = program.Finish("{\"id\": 1, \"text\": \"the\", \"n\": 1}\n");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output.rfind("{\"id\":1,", 0), 0u) << ended.output;
}

}  // namespace
}  // namespace tessera
