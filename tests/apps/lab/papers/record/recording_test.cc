// Recordings of drafts: what is written is read back, and what is none is refused with what was found; those that are built in.
#include "tessera/apps/lab/papers/record/recording.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/lab/papers/record/record_texts.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

Recording Sample() {
  return {.drafter = "sam",
          .command = "tessera_reproduce record",
          .model = "m.gguf",
          .model_sha256 = kAbc,
          .most_rows = 16,
          .texts = {{"summary", "241", kAbc, 800, 8, {{15, 4}, {0, 0}, {3, 0}}, 1, 0, 1},
                    {"rag", "481", kAbc, 700, 1, {}},
                    {"rag", "483", kAbc, 600, 3, {{1, 1}}}}};
}

// The sample with one part of its text replaced by another.
absl::Status Refused(const std::string& part, const std::string& by) {
  const std::string text = RecordingText(Sample()), changed = absl::StrReplaceAll(text, {{part, by}});
  EXPECT_NE(changed, text) << part;
  return ParseRecording(changed, "r.jsonl").status();
}

TEST(Recording, HeaderExample) {
  const TemporaryFolder folder;
  Must(WriteFileAtomically(folder.Path("sam.jsonl"), RecordingText(Sample())));
  const Recording recording = Must(ReadRecording(folder.Path("sam.jsonl")));
  int rows = 0;
  for (const RecordedText& text : recording.texts) {
    for (const RecordedPass& pass : text.passes) rows += 1 + pass.drafted;
  }
  EXPECT_EQ(rows, 16 + 1 + 4 + 2);
  EXPECT_DOUBLE_EQ(recording.MeanTokens("summary"), 7.0 / 3);
}

TEST(Recording, IsReadAsWritten) {
  const Recording written = Sample(), read = Must(ParseRecording(RecordingText(written), "r.jsonl"));
  EXPECT_EQ(read.drafter, written.drafter);
  EXPECT_EQ(read.command, written.command);
  EXPECT_EQ(read.model, written.model);
  EXPECT_EQ(read.model_sha256, written.model_sha256);
  EXPECT_EQ(read.most_rows, written.most_rows);
  EXPECT_EQ(read.texts, written.texts);
  EXPECT_EQ(RecordingText(read), RecordingText(written));
}

TEST(Recording, TokensPerPassAreAveragedOverATaskOrOverAll) {
  const Recording recording = Sample();
  EXPECT_DOUBLE_EQ(recording.MeanTokens("rag"), 2);
  EXPECT_DOUBLE_EQ(recording.MeanTokens(""), 9.0 / 4);
  EXPECT_DOUBLE_EQ(recording.MeanTokens("ui"), 1);   // No pass.
}

TEST(Recording, BadFieldsAreNamedWithTheirLine) {
  const struct {
    const char *part, *by, *said;
  } cases[] = {
      {"{\"drafter\"", "[\"drafter\"", "r.jsonl, line 1"},
      {"\"drafter\":\"sam\"", "\"drafter\":\"\"", "r.jsonl, line 1: drafter: found \"\", expected printable text"},
      {"\"drafter\":\"sam\"", "\"drafter\":7", "r.jsonl, line 1: drafter: found 7"},
      {"\"drafter\":\"sam\",", "", "r.jsonl, line 1: drafter: found nothing"},
      {"tessera_reproduce record", "\\u001b[2J", "r.jsonl, line 1: command: found"},
      {"\"model\":\"m.gguf\"", "\"model\":null", "r.jsonl, line 1: model: found null"},
      {"\"model_sha256\":\"ba", "\"model_sha256\":\"BA", "r.jsonl, line 1: model_sha256: found"},
      {"\"model_sha256\":\"ba", "\"model_sha256\":\"b", "expected a SHA-256"},
      {"\"most_rows\":16", "\"most_rows\":0", "r.jsonl, line 1: most_rows: found 0, expected an integer from 1 to 512"},
      {"\"most_rows\":16", "\"most_rows\":513", "r.jsonl, line 1: most_rows: found 513"},
      {"\"most_rows\":16", "\"most_rows\":16,\"rows\":1", "r.jsonl, line 1: rows: found a field that is not known"},
      {"\"task\":\"summary\"", "\"task\":\"poem\"", "r.jsonl, line 2: task: found \"poem\", expected one of summary, rag, ui, reply"},
      {"\"id\":\"481\"", "\"id\":481", "r.jsonl, line 3: id: found 481"},
      {"\"id\":\"481\",", "", "r.jsonl, line 3: id: found nothing"},
      {"\"prompt_sha256\":\"b", "\"prompt_sha256\":\"g", "r.jsonl, line 2: prompt_sha256: found"},
      {"\"prompt_tokens\":600", "\"prompt_tokens\":0", "r.jsonl, line 4: prompt_tokens: found 0, expected an integer from 1 to"},
      {"\"tokens\":3", "\"tokens\":3.5", "r.jsonl, line 4: tokens: found 3.5"},
      {"\"tokens\":3", "\"tokens\":0", "r.jsonl, line 4: tokens: found 0"},
      {"\"passes\":[[1,1]]", "\"passes\":{}", "r.jsonl, line 4: passes: found an object"},
      {"\"missing\":1,", "", "r.jsonl, line 2: missing: found nothing"},
      {"\"missing\":1", "\"missing\":3", "r.jsonl, line 2: missing: found 3, expected an integer from 0 to 2"},
      {"\"missing\":1,\"synonym\":0", "\"missing\":1,\"synonym\":-1", "r.jsonl, line 2: synonym: found -1"},
      {"\"redundant\":1", "\"redundant\":2", "r.jsonl, line 2: redundant: found 2, expected an integer from 0 to 1"},
      {"\"redundant\":1", "\"redundant\":\"1\"", "r.jsonl, line 2: redundant: found"},
      {"\"passes\":[[1,1]]", "\"passes\":[[1,1]],\"text\":\"a\"", "r.jsonl, line 4: text: found a field that is not known"},
  };
  for (const auto& each : cases) {
    const absl::Status status = Refused(each.part, each.by);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << each.by << ": " << status;
    EXPECT_NE(status.message().find(each.said), std::string::npos) << each.by << ": " << status;
  }
}

TEST(Recording, PassesThatCannotBeAreRefused) {
  const struct {
    const char *by, *said;
  } cases[] = {
      {"[1]", "passes[0]: found 1 numbers, expected 2"},
      {"[1,1,1]", "passes[0]: found 3 numbers, expected 2"},
      {"[1,2]", "passes[0][1]: found 2, expected at most 1"},
      {"[-1,0]", "passes[0][0]: found -1, expected an integer from 0 to 15"},
      {"[16,1]", "passes[0][0]: found 16, expected an integer from 0 to 15"},
      {"[1,\"1\"]", "passes[0][1]: found"},
      {"7", "passes[0]: found 7"},
      {"[1,0]", "passes: found passes for 2 tokens, expected passes for 3"},
      {"[1,1],[0,0]", "passes[1]: found one more pass, expected only 1: they give all 3 tokens"},
  };
  for (const auto& each : cases) {
    const absl::Status status = Refused("\"passes\":[[1,1]]", absl::StrCat("\"passes\":[", each.by, "]"));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << each.by << ": " << status;
    EXPECT_NE(status.message().find(absl::StrCat("r.jsonl, line 4: ", each.said)), std::string::npos) << each.by << ": " << status;
  }
  EXPECT_TRUE(Must(ParseRecording(absl::StrReplaceAll(RecordingText(Sample()), {{"[[1,1]]", "[[9,9]]"}}), "r")).texts[2].tokens == 3)
      << "the last pass may give more than is wanted";
}

TEST(Recording, FilesThatAreNoneAreRefused) {
  const std::string text = RecordingText(Sample());
  for (const std::string& bad : {std::string(), std::string("\n"), text.substr(0, text.find('\n') + 1), text + "\n", text + "x",
                                 "\n" + text, text.substr(text.find('\n') + 1), text.substr(0, text.size() / 2), std::string(9, '\0')}) {
    const absl::Status status = ParseRecording(bad, "r.jsonl").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad << ": " << status;
    EXPECT_EQ(status.message().rfind("r.jsonl", 0), 0u) << status;
  }
  EXPECT_TRUE(absl::IsNotFound(ReadRecording("/nowhere/sam.jsonl").status()));
}

TEST(Recording, EachDrafterHasOneBuiltInOfTheSamePromptsAndModel) {
  const Recording first = Must(BuiltInRecording(RecordedDrafters()[0]));
  for (const std::string& drafter : RecordedDrafters()) {
    const absl::StatusOr<Recording> recording = BuiltInRecording(drafter);
    ASSERT_TRUE(recording.ok()) << recording.status();
    EXPECT_NE(recording->command.find(absl::StrCat("--speculate=", drafter, " ")), std::string::npos) << recording->command;
    EXPECT_EQ(recording->model_sha256, first.model_sha256) << drafter;
    ASSERT_EQ(recording->texts.size(), first.texts.size()) << drafter;
    for (size_t i = 0; i < first.texts.size(); ++i) {
      const RecordedText& text = recording->texts[i];
      EXPECT_EQ(std::pair(text.task, text.id), std::pair(first.texts[i].task, first.texts[i].id)) << drafter;
      EXPECT_EQ(text.prompt_sha256, first.texts[i].prompt_sha256) << drafter << " " << text.id;
      EXPECT_EQ(text.tokens, first.texts[i].tokens) << drafter << " " << text.id << ": a draft changed a text";
    }
  }
  EXPECT_TRUE(absl::IsNotFound(BuiltInRecording("poet").status()));
}

}  // namespace
}  // namespace tessera
