// Ctrl-C, SIGTERM, a terminal that closes and a reader that goes away, in every phase of every program.
//
// The bound is a promise to a person who waits, so it is measured on the clock. A busy machine may miss it now and then; a program that
// misses it five times in a row at the same point is too slow.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr double kBoundMillis = 200;
constexpr int kTries = 5;
constexpr uint64_t kLongestDelay = 400'000;   // Microseconds.

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

// The least milliseconds from `signal` to the end, at one point of a run. SIGPIPE comes from the test's closing its end of standard output.
double MillisToEnd(const Phase& phase, int signal, uint64_t delay) {
  double least = 1e9;
  for (int i = 0; i < kTries && least > kBoundMillis; ++i) {
    Program program(phase.program, phase.arguments);
    usleep(delay);
    if (!program.Running()) {
      ADD_FAILURE() << phase.name << ": the phase is too short for this test: " << program.Finish("").errors;
      return 0;
    }
    if (signal == SIGPIPE) program.CloseOutput(); else program.Signal(signal);
    least = std::min(least, program.MillisToEnd());
    EXPECT_EQ(program.Finish("").code, 128 + signal) << phase.name;
  }
  return least;
}

TEST_F(Signals, EndEveryProgramWithin200MillisecondsInEveryPhase) {
  SeededRandom random(7);
  for (const Phase& phase : Phases()) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      if (signal == SIGPIPE && phase.makes_file) continue;  // That is written all the same.
      const uint64_t delay = random.Below(kLongestDelay);
      EXPECT_LE(MillisToEnd(phase, signal, delay), kBoundMillis) << phase.name << ", signal " << signal << " after " << delay << " us";
    }
  }
  EXPECT_EQ(folder_.Files(), 2) << "the two texts: no trace, no model, and no temporary file";
}

TEST_F(Signals, EndARealModelWhileItLoadsAndWhileAPassRuns) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Phase phase = {"real model", "tessera_generate",
                       {"--model=" + model, "--threads=1", "--raw", "--n_predict=0", "--prompt_file=" + LongText("prompt", 3'500)}};
  for (uint64_t delay : {50'000, 300'000, 1'000'000, 2'000'000}) {  // From the file's metadata to a pass of 512 rows.
    for (int signal : {SIGINT, SIGTERM}) {
      EXPECT_LE(MillisToEnd(phase, signal, delay), kBoundMillis) << "signal " << signal << " after " << delay << " us";
    }
  }
}

// The flash is slow, so that a thread waits for it nearly always: for a pin, the rows of an embedding or a layer.
TEST_F(Signals, EndAStreamedModelWhileItLoadsAndWhileAPassWaitsForTheFlash) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const PackedModel packed(model);
  const std::string flash = folder_.Path("slow");
  std::ofstream(flash) << "name: \"slow\" speed { block_bytes: 1048576 depth: 1 megabytes_per_second: 200 source: \"this test\" }";
  struct Moment { uint64_t delay; const char* io; };
  for (const auto& [delay, io] : {Moment{200'000, "auto"}, {500'000, "pread"}, {900'000, "buffered"}, {1'500'000, "auto"}}) {
    const Phase phase = {"streaming", "tessera_generate",
                         {"--model=" + packed.path(), "--memory_budget=150MiB", "--context=512", "--threads=1", "--raw", "--n_predict=0",
                          "--temperature=0", "--prompt=The war", "--verify=always", "--flash=" + flash, std::string("--io=") + io}};
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) {
      EXPECT_LE(MillisToEnd(phase, signal, delay), kBoundMillis) << io << ", signal " << signal << " after " << delay << " us";
    }
  }
}

// Some tenths of a second, from a file that no process has read, on a disk whose speed is unknown.
TEST_F(Signals, EndAStreamedModelWhileItsFlashIsProbed) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const PackedModel packed(model);
  for (uint64_t delay : {150'000, 250'000, 350'000, 450'000}) {
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) {
      const CacheFolderFor unknown(folder_.Path(absl::StrCat("cache", delay, "_", signal)));
      const Phase phase = {"probing", "tessera_generate",
                           {"--model=" + packed.path(), "--memory_budget=300MiB", "--context=512", "--threads=1", "--n_predict=0",
                            "--temperature=0", "--prompt=The war", "--raw"}};
      EXPECT_LE(MillisToEnd(phase, signal, delay), kBoundMillis) << "signal " << signal << " after " << delay << " us";
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
      EXPECT_LE(MillisToEnd({name, name, flags}, SIGINT, 700'000), kBoundMillis) << name;
      in_order = std::filesystem::remove(trace);
    }
    EXPECT_TRUE(in_order) << name << ": found no trace";
  }
}

// It takes about a tenth of a second in all.
TEST_F(Signals, EndTheCheckOfAModelFile) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Phase phase = {"verifying", "tessera_inspect", {"--model=" + model, "--verify", "--threads=1"}};
  for (int signal : {SIGINT, SIGTERM, SIGPIPE}) EXPECT_LE(MillisToEnd(phase, signal, 25'000), kBoundMillis) << signal;
}

// About half a second in all.
TEST_F(Signals, EndThePackingOfAModel) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Phase phase = {"packing", "tessera_pack", {"--model=" + model, "--out=" + folder_.Path("packed"), "--threads=1"}};
  for (int signal : {SIGINT, SIGTERM}) EXPECT_LE(MillisToEnd(phase, signal, 150'000), kBoundMillis) << signal;
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(Signals, AReaderThatGoesLeavesTheTraceOfAnAnswerThatWouldNotEnd) {
  const std::string trace = folder_.Path("trace");
  Program program("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=the", "--temperature=0", "--n_predict=0",
                                       "--context=1000000", "--trace=" + trace});
  usleep(kLongestDelay);
  program.CloseOutput();
  EXPECT_LT(program.MillisToEnd(), 10'000);
  EXPECT_EQ(program.Finish("").code, 128 + SIGPIPE);
  EXPECT_TRUE(std::filesystem::exists(trace));
}

TEST_F(Signals, ADialogueEndsBySigtermAndWithItsReader) {
  const Phase phase = {"waiting for a message", "tessera_generate", {"--model=" + TinyPath("llama"), "--chat", "--chat_template=chatml"}};
  for (int signal : {SIGTERM, SIGHUP, SIGPIPE}) {
    EXPECT_LE(MillisToEnd(phase, signal, 200'000), kBoundMillis) << signal;
  }
}

// A program whose output nobody reads cannot end in order, but ends all the same.
TEST_F(Signals, EndAnAnswerThatNobodyReads) {
  const Phase phase = {"blocked in a write", "tessera_generate",
                       {"--model=" + TinyPath("llama"), "--prompt=the", "--temperature=0", "--n_predict=0", "--context=1000000"}};
  EXPECT_LE(MillisToEnd(phase, SIGINT, 3'000'000), kBoundMillis);
}

TEST_F(Signals, OneThatIsIgnoredStaysIgnored) {
  const std::string binary = std::string(TESSERA_BINARY_DIR) + "/bin/tessera_generate --jsonl --model=" + TinyPath("llama");
  const std::string command =
      "trap '' HUP; (sleep 0.5; kill -HUP $$; sleep 0.2; echo '{\"id\": 1, \"text\": \"the\", \"n\": 1}') | exec " + binary +
      " > /dev/null";
  EXPECT_EQ(WEXITSTATUS(system(command.c_str())), 0);
}

}  // namespace
}  // namespace tessera
