// tessera_reproduce record_draft: the recording that it writes, how to make it again, and what it refuses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"
#include "tessera/base/sha256.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/flag_list.h"
#include "tessera/tests/fakes/programs/refused_runs.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

std::string Samples() { return "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation"; }

// A short run, and what is put behind its flags.
Ended Record(const Flags& flags) {
  const Flags short_run = {"--model=" + TinyPath("llama"), "--draft_model=" + TinyPath("llama"), "--categories=gsm8k", "--texts=2",
                           "--generate_tokens=8", "--threads=1", "--json", Samples()};
  return RunProgram("tessera_reproduce record_draft", short_run + flags);
}

TEST(ReproduceRecordDraft, WritesARecordingThatNamesItsCommandAndModels) {
  const Ended ended = Record({});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const DraftRecording recording = Must(ParseDraftRecording(ended.output, "standard output"));
  EXPECT_EQ(recording.command, "tessera_reproduce record_draft --model=llama.gguf --draft_model=llama.gguf --data=FOLDER "
                               "--categories=gsm8k --texts=2 --generate_tokens=8 --json");
  EXPECT_EQ(recording.model, "llama.gguf");
  EXPECT_EQ(recording.draft, "llama.gguf");
  EXPECT_EQ(recording.model_sha256, Must(Sha256OfFile(TinyPath("llama"))).Hex());
  EXPECT_EQ(recording.draft_sha256, recording.model_sha256);
  EXPECT_EQ(recording.most_tokens, 8);
  EXPECT_EQ(recording.candidates, 8);
  EXPECT_EQ(recording.HitShare("gsm8k"), 1) << "the draft is the model";
  ASSERT_EQ(recording.texts.size(), 2u);
  EXPECT_EQ(Record({"--threads=2"}).output, ended.output);
  const Ended table = Record({"--nojson"});
  EXPECT_TRUE(absl::StrContains(table.output, "gsm8k")) << table.output;
  EXPECT_TRUE(absl::StrContains(table.output, "100.0 %")) << table.output;
}

TEST(ReproduceRecordDraft, ACopyInFewerBitsBearsTheHashOfItsModel) {
  const TemporaryFolder folder;
  const CacheFolderFor cache(folder.path());
  const Ended ended = Record({"--draft_model=self:q2"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const DraftRecording recording = Must(ParseDraftRecording(ended.output, "standard output"));
  EXPECT_EQ(recording.draft, "self:q2");
  EXPECT_EQ(recording.draft_sha256, Must(Sha256OfFile(TinyPath("llama"))).Hex());
  EXPECT_TRUE(absl::StrContains(recording.command, "--draft_model=self:q2 ")) << recording.command;
  EXPECT_EQ(Record({"--draft_model=self:q2"}).output, ended.output) << "the copy is there now";
  EXPECT_EQ(Record({"--draft_model=self:q2:" + TinyPath("llama"), "--nojson"}).code, 0);
}

TEST(ReproduceRecordDraft, RefusesFlagsThatCannotBeRecorded) {
  const SplitModel split(TinyModelBuilder({.context = 512}).Split(2));
  const PackedModel packed(TinyPath("llama"));
  ExpectRefused(Record, {
      {"--draft_model=self:layers=1", 2, "--draft_model: found self:layers=1, expected a model in a file"},
      {"--draft_model=eagle.safetensors", 2, "--draft_model: found eagle.safetensors, expected a model in a file"},
      {"--draft_model=self:q9", 2, "--draft_model: found \"self:q9\""},
      {"--draft_model=/nowhere/d.gguf", 2, "--draft_model: /nowhere/d.gguf"},
      {"--draft_model=" + split.Path(0), 2, "one of 2 parts, expected a model in one file"},
      {"--draft_model=self:q2:" + packed.path(), 2, "--draft_model: "},
      {"--categories=code", 2, "--categories: found \"code\", expected some of gsm8k, humaneval, mbpp, mt_bench, or all"},
      {"--texts=0", 2, "--texts: found 0"},
      {"--generate_tokens=1", 2, "--generate_tokens: found 1"},
      {"--data=/nowhere", 2, "--data: /nowhere"},
      {"--model=" + split.Path(0), 2, "one of 2 parts, expected a model in one file"},
  });
  const Ended none = RunProgram("tessera_reproduce record_draft", {"--model=" + TinyPath("llama"), Samples()});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(absl::StrContains(none.errors, "--draft_model: found none, expected a model whose answers are recorded")) << none.errors;
}

}  // namespace
}  // namespace tessera
