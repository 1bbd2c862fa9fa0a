// Recordings of draft models: what is written is read back, and what is none is refused with what was found; those that are built in.
#include "tessera/apps/lab/papers/record/draft_recording.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/made_up_drafts.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

DraftRecording Sample() {
  return {.command = "tessera_reproduce record_draft",
          .model = "m.gguf",
          .model_sha256 = kAbc,
          .draft = "d.gguf",
          .draft_sha256 = kAbc,
          .most_tokens = 16,
          .candidates = 2,
          .wrong = {.nodes = 3, .said = 0.5, .by_rule = 0.625},
          .texts = {{"gsm8k", "1", kAbc, 80, {5, 7, 9}, {{{7, 0.75f}, {8, 0.125f}}, {{4, 0.5f}}}, {{3, 1}}},
                    {"mbpp", "2", kAbc, 70, {6}, {}, {}},
                    {"mbpp", "3", kAbc, 60, {6, 2}, {{}}, {{0, 0}}}}};
}

// The sample with one part of its text replaced by another.
absl::Status Refused(const std::string& part, const std::string& by) {
  const std::string text = DraftRecordingText(Sample()), changed = absl::StrReplaceAll(text, {{part, by}});
  EXPECT_NE(changed, text) << part;
  return ParseDraftRecording(changed, "d.jsonl").status();
}

TEST(DraftRecording, HeaderExample) {
  const TemporaryFolder folder;
  Must(WriteFileAtomically(folder.Path("near.jsonl"), DraftRecordingText(Sample())));
  const DraftRecording recording = Must(ReadDraftRecording(folder.Path("near.jsonl")));
  EXPECT_EQ(recording.texts[0].tokens[1], recording.texts[0].said[0][0].token);
  EXPECT_NEAR(recording.HitShare(""), 1.0 / 3, 1e-12);
  EXPECT_NEAR(recording.HitShare("gsm8k"), 0.5, 1e-12);
  EXPECT_EQ(recording.HitShare("mt_bench"), 0);
  EXPECT_TRUE(recording.Has("mbpp"));
  EXPECT_FALSE(recording.Has("mt_bench"));
}

TEST(DraftRecording, IsReadAsWritten) {
  const DraftRecording written = Sample(), read = Must(ParseDraftRecording(DraftRecordingText(written), "d.jsonl"));
  EXPECT_EQ(DraftRecordingText(read), DraftRecordingText(written));
  ASSERT_EQ(read.texts.size(), written.texts.size());
  for (size_t i = 0; i < read.texts.size(); ++i) {
    EXPECT_EQ(read.texts[i].tokens, written.texts[i].tokens) << i;
    EXPECT_EQ(read.texts[i].retrieval, written.texts[i].retrieval) << i;
    ASSERT_EQ(read.texts[i].said.size(), written.texts[i].said.size()) << i;
    for (size_t at = 0; at < read.texts[i].said.size(); ++at) {
      const TopTokens &a = read.texts[i].said[at], &b = written.texts[i].said[at];
      ASSERT_EQ(a.size(), b.size()) << i << " " << at;
      for (size_t c = 0; c < a.size(); ++c) EXPECT_TRUE(a[c].token == b[c].token && a[c].probability == b[c].probability);
    }
  }
}

// Probabilities are rounded: equal ones stay in their order, and a sum of 1 is none of more.
TEST(DraftRecording, RoundedNumbersAreStillADistribution) {
  const DraftRecording made_up = MadeUpDraft({.texts = 20});
  const DraftRecording read = Must(ParseDraftRecording(DraftRecordingText(made_up), "made up"));
  EXPECT_EQ(read.texts.size(), made_up.texts.size());
  EXPECT_EQ(DraftRecordingText(read), DraftRecordingText(made_up));
}

TEST(DraftRecording, BadFieldsAreNamedWithTheirLine) {
  const struct {
    const char *part, *by, *said;
  } cases[] = {
      {"{\"command\"", "[\"command\"", "d.jsonl, line 1"},
      {"\"model\":\"m.gguf\"", "\"model\":\"\"", "d.jsonl, line 1: model: found \"\", expected printable text"},
      {"\"model_sha256\":\"ba", "\"model_sha256\":\"BA", "d.jsonl, line 1: model_sha256: found"},
      {"\"draft\":\"d.gguf\",", "", "d.jsonl, line 1: draft: found nothing"},
      {"\"draft_sha256\":\"ba", "\"draft_sha256\":\"b", "expected a SHA-256"},
      {"\"most_tokens\":16", "\"most_tokens\":2", "d.jsonl, line 2: tokens: found 3 tokens, expected 1 to 2"},
      {"\"most_tokens\":16", "\"most_tokens\":0", "d.jsonl, line 1: most_tokens: found 0, expected an integer from 1 to"},
      {"\"candidates\":2", "\"candidates\":65", "d.jsonl, line 1: candidates: found 65, expected an integer from 1 to 64"},
      {"\"candidates\":2", "\"candidates\":1", "d.jsonl, line 2: said[0]: found 4 numbers, expected at most 1 tokens"},
      {"distribution of the same position", "distribution of the root",
       "d.jsonl, line 1: off_path: found \"distribution of the root\", expected one of distribution of the"},
      {"\"wrong_nodes\":3", "\"wrong_nodes\":-1", "d.jsonl, line 1: wrong_nodes: found -1"},
      {"\"wrong_said\":0.5", "\"wrong_said\":1.5", "d.jsonl, line 1: wrong_said: found 1.5, expected a share, 0 to 1"},
      {"\"wrong_by_rule\":0.625", "\"wrong_by_rule\":\"a\"", "d.jsonl, line 1: wrong_by_rule: found"},
      {"\"off_path\"", "\"on_path\"", "d.jsonl, line 1: on_path: found a field that is not known"},
      {"\"set\":\"gsm8k\"", "\"set\":\"poems\"", "d.jsonl, line 2: set: found \"poems\", expected one of gsm8k, humaneval, mbpp, mt_bench"},
      {"\"id\":\"1\"", "\"id\":1", "d.jsonl, line 2: id: found 1"},
      {"\"prompt_tokens\":60", "\"prompt_tokens\":0", "d.jsonl, line 4: prompt_tokens: found 0"},
      {"\"tokens\":[5,7,9]", "\"tokens\":[5,7,-9]", "d.jsonl, line 2: tokens[2]: found -9"},
      {"\"tokens\":[5,7,9]", "\"tokens\":[5,7]", "d.jsonl, line 2: said: found 2 answers, expected 1: one after each token but the last"},
      {"\"tokens\":[6]", "\"tokens\":[]", "d.jsonl, line 3: tokens: found 0 tokens, expected 1 to 16"},
      {"\"tokens\":[6]", "\"tokens\":{}", "d.jsonl, line 3: tokens: found an object"},
      {"\"retrieval\":[[3,1]]", "\"retrieval\":[[3,4]]", "d.jsonl, line 2: retrieval[0][1]: found 4, expected at most 3"},
      {"\"retrieval\":[[3,1]]", "\"retrieval\":[]", "d.jsonl, line 2: retrieval: found passes for 1 tokens, expected passes for 3"},
      {"\"retrieval\":[[3,1]]", "\"retrieval\":[[3,1],[0,0]]", "d.jsonl, line 2: retrieval[1]: found one more pass"},
  };
  for (const auto& each : cases) {
    const absl::Status status = Refused(each.part, each.by);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << each.by << ": " << status;
    EXPECT_NE(status.message().find(each.said), std::string::npos) << each.by << ": " << status;
  }
}

TEST(DraftRecording, NumbersThatAreNoDistributionAreRefused) {
  const struct {
    const char *by, *said;
  } cases[] = {
      {"[7]", "said[0]: found 1 numbers, expected at most 2 tokens, each with a probability"},
      {"[7,0.2,8,0.1,9,0.1]", "said[0]: found 6 numbers"},
      {"[7,0]", "said[0][1]: found 0, expected a probability above 0"},
      {"[7,-0.5]", "said[0][1]: found -0.5"},
      {"[7,1.5]", "said[0][1]: found 1.5"},
      {"[7,0.1,8,0.2]", "said[0][3]: found 0.2, expected a probability above 0 and at most 0.1"},
      {"[7,0.8,8,0.7]", "said[0]: found probabilities of 1.5 together, expected at most 1"},
      {"[7,0.2,7,0.1]", "said[0][2]: found token 7 twice"},
      {"[-7,0.2]", "said[0][0]: found -7"},
      {"[16777216,0.2]", "said[0][0]: found 16777216"},
      {"[7.5,0.2]", "said[0][0]: found 7.5"},
      {"[7,\"0.2\"]", "said[0][1]: found"},
      {"7", "said[0]: found"},
  };
  for (const auto& each : cases) {
    const absl::Status status = Refused("[7,0.75,8,0.125]", each.by);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << each.by << ": " << status;
    EXPECT_NE(status.message().find(absl::StrCat("d.jsonl, line 2: ", each.said)), std::string::npos) << each.by << ": " << status;
  }
}

TEST(DraftRecording, FilesThatAreNoneAreRefused) {
  const std::string text = DraftRecordingText(Sample());
  for (const std::string& bad : {std::string(), std::string("\n"), text.substr(0, text.find('\n') + 1), text + "\n", text + "x",
                                 "\n" + text, text.substr(text.find('\n') + 1), text.substr(0, text.size() / 2)}) {
    const absl::Status status = ParseDraftRecording(bad, "d.jsonl").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad << ": " << status;
    EXPECT_EQ(status.message().rfind("d.jsonl", 0), 0u) << status;
  }
  EXPECT_TRUE(absl::IsNotFound(ReadDraftRecording("/nowhere/near.jsonl").status()));
  EXPECT_TRUE(absl::IsNotFound(BuiltInDraftRecording("poet").status()));
}

TEST(DraftRecording, NearAgreesWithItsTargetMoreOftenThanFarDoes) {
  const absl::StatusOr<DraftRecording> near = BuiltInDraftRecording("near"), far = BuiltInDraftRecording("far");
  ASSERT_TRUE(near.ok()) << near.status();
  ASSERT_TRUE(far.ok()) << far.status();
  EXPECT_GT(near->HitShare(""), far->HitShare(""));
  for (const DraftRecording* recording : {&*near, &*far}) {
    EXPECT_NE(recording->command.find(absl::StrCat("--draft_model=", recording->draft, " ")), std::string::npos) << recording->command;
    EXPECT_GT(recording->wrong.nodes, 0) << recording->draft;
  }
}

}  // namespace
}  // namespace tessera
