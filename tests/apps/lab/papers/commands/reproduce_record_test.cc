// tessera_reproduce record: the recording that it writes, how to make it again, and what it refuses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/record/record_texts.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/base/sha256.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/flag_list.h"
#include "tessera/tests/fakes/programs/refused_runs.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

// A short run, and what is put behind its flags.
Ended Record(const Flags& flags) {
  const Flags short_run = {"--speculate=sam+ours", "--categories=ui", "--texts=2", "--generate_tokens=8", "--threads=1", "--json",
                           "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation", "--model=" + TinyPath("llama")};
  return RunProgram("tessera_reproduce record", short_run + flags);
}

TEST(ReproduceRecord, WritesARecordingThatNamesItsCommandAndModel) {
  const Ended ended = Record({});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const Recording recording = Must(ParseRecording(ended.output, "standard output"));
  EXPECT_EQ(recording.drafter, "sam+ours");
  EXPECT_EQ(recording.command, "tessera_reproduce record --speculate=sam+ours --data=FOLDER --model=llama.gguf --categories=ui --texts=2 "
                               "--generate_tokens=8 --json");
  EXPECT_EQ(recording.model, "llama.gguf");
  EXPECT_EQ(recording.model_sha256, Must(Sha256OfFile(TinyPath("llama"))).Hex());
  EXPECT_EQ(recording.most_rows, 32);
  ASSERT_EQ(recording.texts.size(), 2u);
  for (const RecordedText& text : recording.texts) {
    EXPECT_EQ(text.task, "ui");
    EXPECT_LE(text.tokens, 8);
  }
  EXPECT_EQ(Record({"--threads=2"}).output, ended.output);
}

TEST(ReproduceRecord, AutoIsAllFourOneAfterTheOther) {
  std::string alone;
  for (const std::string& drafter : RecordedDrafters()) alone += Record({"--speculate=" + drafter}).output;
  const Ended all = Record({"--speculate=auto"});
  ASSERT_EQ(all.code, 0) << all.errors;
  EXPECT_EQ(all.output, alone);
  const Ended table = Record({"--speculate=auto", "--nojson"});
  ASSERT_EQ(table.code, 0) << table.errors;
  for (const std::string& drafter : RecordedDrafters()) {
    EXPECT_TRUE(absl::StrContains(table.output, "\n" + drafter + " ")) << table.output;
  }
}

TEST(ReproduceRecord, APackedModelDraftsAsItsGgufFileDoes) {
  const PackedModel packed(TinyPath("llama"));
  const Ended ended = Record({"--model=" + packed.path()});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const Recording recording = Must(ParseRecording(ended.output, "packed"));
  EXPECT_EQ(recording.texts, Must(ParseRecording(Record({}).output, "gguf")).texts);
  EXPECT_EQ(recording.model_sha256, Must(Sha256OfFile(packed.path())).Hex());
}

TEST(ReproduceRecord, RefusesFlagsThatCannotBeRecorded) {
  const SplitModel split(TinyModelBuilder({.context = 512}).Split(2));
  ExpectRefused(Record, {
      {"--speculate=suffix", 2, "--speculate: found \"suffix\", expected one of lookup, sam, lookup+ours, sam+ours"},
      {"--categories=code", 2, "--categories: found code, expected some of summary, rag, ui, reply, or all"},
      {"--texts=0", 2, "--texts: found 0"},
      {"--generate_tokens=1", 2, "--generate_tokens: found 1"},
      {"--data=/nowhere", 2, "--data: /nowhere"},
      {"--model=" + split.Path(0), 2, "one of 2 parts, expected a model in one file"},
      {"--categories=summary", 1, "summary: found no prompt of at most 504 tokens among 2"},
  });
}

}  // namespace
}  // namespace tessera
