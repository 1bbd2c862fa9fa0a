// Beam searches as a person runs them: tessera_generate --beam, and tessera_scale run --beam.
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/beam_flags.h"
#include "tessera/apps/show/beam_report.h"
#include "tessera/apps/show/text_beginning.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kPrompt[] = "--prompt=the in re";
// The small model writes many bytes that are no text.
constexpr char kDelimiter[] = "--step_delimiter=\xEF\xBF\xBD";

std::vector<std::string> With(const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--model=" + TinyPath("llama"), "--threads=1"};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

Ended Generate(const std::vector<std::string>& flags, const std::string& input = "") {
  return RunProgram("tessera_generate", With(flags), input);
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n', absl::SkipEmpty()); }

const std::vector<std::string>& Search() {
  static const std::vector<std::string> flags = {kPrompt,    "--beam=3x2",        kDelimiter,   "--n_predict=24",
                                                 "--seed=4", "--temperature=1.5", "--top_k=0"};
  return flags;
}

std::vector<std::string> And(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

TEST(Beam, TheBestTextIsShownAndJsonHasAll) {
  const Ended shown = Generate(Search());
  ASSERT_EQ(shown.code, 0) << shown.errors;
  const JsonValue json = Json(Generate(And(Search(), {"--json"})).output);
  EXPECT_EQ(*json.String("text") + "\n", shown.output);
  EXPECT_EQ(*json.String("beam"), "3x2");
  EXPECT_EQ(*json.String("scorer"), "mean_log_probability");
  EXPECT_EQ(*json.Int("seed"), 4);
  const JsonValue texts = *json.Array("texts");
  ASSERT_GE(texts.size(), 1);
  ASSERT_LE(texts.size(), 3);
  int64_t best = 0;
  for (int64_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(*texts[i].Double("score"), *texts[i].Double("mean_log_probability"));
    if (*texts[i].Double("score") > *texts[best].Double("score")) best = i;
  }
  EXPECT_EQ(*json.Double("score"), *texts[best].Double("score"));
  EXPECT_EQ(*json.String("text"), *texts[best].String("text"));
  EXPECT_EQ(static_cast<int64_t>(json.Ints("tokens")->size()), *texts[best].Int("tokens"));
  EXPECT_GT(*json.Object("timings")->Int("output_tokens"), 24);
  EXPECT_EQ(Generate(And(Search(), {"--threads=2"})).output, shown.output) << "the same again";
}

// Where no step ends before the text does, a search of one step has the samples that --answers writes.
TEST(Beam, OneStepOfWholeTextsIsSamplesAndAChoice) {
  const std::vector<std::string> common = {kPrompt, "--n_predict=9", "--seed=3", "--temperature=1.5", "--top_k=0", "--json"};
  const JsonValue searched = Json(Generate(And(common, {"--beam=4x1", "--step_delimiter=~~~~"})).output);
  const JsonValue written = Json(Generate(And(common, {"--answers=4"})).output);
  const JsonValue texts = *searched.Array("texts"), answers = *written.Array("answers");
  ASSERT_EQ(texts.size(), 4);
  for (int64_t i = 0; i < texts.size(); ++i) {
    const int64_t sample = texts[i].Ints("path")->front();
    EXPECT_EQ(*texts[i].String("text"), *answers[sample].String("text"));
    EXPECT_EQ(*texts[i].String("finish"), *answers[sample].String("finish"));
  }
}

TEST(Beam, StatsShowsTheSteps) {
  const Ended ended = Generate(And(Search(), {"--stats", "--scorer=self_certainty"}));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, "step  beam  from  ")) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, "steps kept, scored by self_certainty in ")) << ended.errors;
}

TEST(Beam, ADelimiterMayBeWrittenWithEscapes) {
  const auto steps = [](const std::string& delimiter) {
    std::vector<std::string> flags = And(Search(), {"--json"});
    flags[2] = "--step_delimiter=" + delimiter;
    return *Json(Generate(flags).output).Int("steps");
  };
  EXPECT_EQ(steps("\\xEF\\xBF\\xBD"), steps("\xEF\xBF\xBD"));
  EXPECT_GT(steps("\xEF\xBF\xBD"), 6) << "more than one step";
}

TEST(Beam, RequestsAreAnsweredEachByASearchOfItsOwn) {
  const std::vector<std::string> search = {"--beam=2x2", kDelimiter, "--temperature=1.5", "--seed=2"};
  const Ended ended = Generate(And(search, {"--jsonl", "--n_predict=12"}), R"({"id": "a", "text": "the in re"}
{"id": "b", "text": "the in re", "answers": 2}
{"id": "c", "text": "the in re", "temperature": 0}
{"id": "d", "text": "the in re", "n": 5}
)");
  EXPECT_EQ(ended.code, 1);
  const std::vector<std::string> lines = Lines(ended.output);
  ASSERT_EQ(lines.size(), 4u) << ended.output << ended.errors;
  EXPECT_TRUE(absl::StrContains(*Json(lines[1]).String("error"), "found answers beside --beam")) << lines[1];
  EXPECT_TRUE(absl::StrContains(*Json(lines[2]).String("error"), "beam: found 2x2 with sampling that always takes the likeliest token"))
      << lines[2];
  const std::pair<size_t, std::string> whole[] = {{0, "--n_predict=12"}, {3, "--n_predict=5"}};
  for (const auto& [line, most] : whole) {
    const JsonValue answer = Json(lines[line]);
    const JsonValue alone = Json(Generate(And(search, {"--raw", kPrompt, "--json", most})).output);
    EXPECT_EQ(*answer.String("output_text"), *alone.String("text"));
    EXPECT_EQ(*answer.String("finish"), *alone.String("finish"));
    EXPECT_EQ(*answer.String("beam"), "2x2");
    EXPECT_EQ(*answer.Double("score"), *alone.Double("score"));
  }
}

TEST(Beam, FlagsThatDoNotGoWithBeamAreNamed) {
  const auto refused = [](const std::vector<std::string>& flags, const std::string& says) {
    const Ended ended = Generate(And(flags, {kPrompt}));
    EXPECT_EQ(ended.code, 2) << says << ended.errors;
    EXPECT_EQ(ended.output, "");
    EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors << "\nexpected " << says;
  };
  const std::string beam = "--beam=4x4";
  refused({beam, "--answers=2"}, "--answers: found beside --beam, expected one of them");
  refused({beam, "--best_of=2"}, "--best_of: found beside --beam, expected one of them");
  refused({beam, "--session=x"}, "--session: found beside --beam");
  refused({beam, "--speculate=lookup"}, "--speculate: found beside --beam, expected none");
  refused({beam, "--history=x"}, "--history: found beside --beam");
  refused({beam, "--temperature=0"}, "--beam: found 4x4 with sampling that always takes the likeliest token, expected 1x1");
  refused({beam, "--top_k=1"}, "--beam: found 4x4 with sampling that always");
  refused({beam, "--repetition_penalty=1.2"}, "--repetition_penalty: found 1.2 with beams, expected 1");
  refused({beam, "--step_delimiter="}, "--step_delimiter: found \"\", expected a text");
  refused({beam, "--step_delimiter=\\q"}, "--step_delimiter: found ");
  refused({beam, "--most_steps=0"}, "--most_steps: found 0");
  refused({beam, "--scorer=brevity"}, "--scorer: found \"brevity\"");
  for (const char* const shape : {"4", "4x", "0x4", "4x4x4", "16x5", "a", "-1x-1", "99999999999x1"}) {
    refused({absl::StrCat("--beam=", shape)}, absl::StrCat("--beam: found \"", shape, "\", expected WIDTHxEXPANSIONS"));
  }
  refused({"--step_delimiter=e"}, "--step_delimiter: found without --beam");
  refused({"--most_steps=3"}, "--most_steps: found without --beam");
  const Ended chat = Generate({beam, "--chat"});
  EXPECT_EQ(chat.code, 2);
  EXPECT_TRUE(absl::StrContains(chat.errors, "--chat: found beside --beam")) << chat.errors;
  EXPECT_EQ(Generate({kPrompt, "--beam=1x1", "--temperature=0", "--n_predict=4"}).code, 0) << "one greedy text";
}

TEST(Beam, DryRunsCountWholeTextsOfTheWidthAndAStepOfEachRow) {
  const auto plan = [](const std::vector<std::string>& flags) {
    return Json(Generate(And({"--dry_run", "--json", "--context=2048", "--speculate=none"}, flags)).output);
  };
  const JsonValue one = plan({}), search = plan({"--beam=4x4"});
  EXPECT_EQ(*one.Int("cache_tokens"), 2048);
  EXPECT_EQ(*search.Int("cache_tokens"), 1024 + 4 * 512 + 16 * 256);
  EXPECT_GT(*search.Object("memory_bytes")->Int("logits"), *one.Object("memory_bytes")->Int("logits"));
  EXPECT_EQ(*plan({"--beam=4x4", "--cache_tokens=4096"}).Int("cache_tokens"), 4096);
}

TEST(Beam, AnInterruptEndsTheSearchWithoutAText) {
  Program program("tessera_generate", With({kPrompt, "--beam=4x4", "--n_predict=0", "--step_delimiter=~~~~", "--most_steps=1000000",
                                            "--context=1000000", "--temperature=0.001"}));   // As good as greedy: it never ends.
  EXPECT_TRUE(program.Computes(300'000));
  program.Signal(SIGINT);
  EXPECT_TRUE(program.Ends());
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_EQ(ended.output, "");
}

std::vector<std::string> RunFlags(const std::string& into) {
  return {"--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation", "--model=" + TinyPath("llama"), "--texts=2",
          "--beam=2x2", kDelimiter, "--n_predict=8", "--temperature=1.5", "--into=" + into, "--json"};
}

Ended Scale(const std::string& subcommand, const std::vector<std::string>& flags) {
  return RunProgram("tessera_scale " + subcommand, flags);
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::set<std::string> AsSet(const std::vector<std::string>& lines) { return {lines.begin(), lines.end()}; }

TEST(ScaleBeam, AProblemHasTheTextsOfItsSearchAndARunGoesOn) {
  const TemporaryFolder folder;
  const Ended whole = Scale("run", RunFlags(folder.Path("whole")));
  ASSERT_EQ(whole.code, 0) << whole.errors;
  EXPECT_EQ(*Json(whole.output).String("beam"), "2x2");
  const std::vector<std::string> lines = LinesOf(folder.Path("whole"));
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(*Json(whole.output).Int("written"), static_cast<int64_t>(lines.size()));
  std::vector<std::string> firsts;
  for (const std::string& line : lines) {
    EXPECT_EQ(*Json(line).Double("score"), *Json(line).Double("mean_log_probability"));
    if (*Json(line).Int("sample") == 0) firsts.push_back(*Json(line).String("id"));
  }
  EXPECT_EQ(firsts.size(), 2u) << "each problem has a text 0";
  EXPECT_EQ(*Json(lines.back()).Int("sample"), 0) << "which is added last";
  // As after a kill, at any line: what was there stays, and the rest comes.
  for (size_t kept = 0; kept <= lines.size(); ++kept) {
    const std::string path = folder.Path(absl::StrCat("part", kept));
    std::ofstream part(path);
    for (size_t i = 0; i < kept; ++i) part << lines[i] << "\n";
    part.close();
    const Ended rest = Scale("run", RunFlags(path));
    ASSERT_EQ(rest.code, 0) << rest.errors;
    EXPECT_EQ(*Json(rest.output).Int("before"), static_cast<int64_t>(kept));
    EXPECT_EQ(LinesOf(path).size(), lines.size());
    EXPECT_EQ(AsSet(LinesOf(path)), AsSet(lines));
  }
  const Ended judged = Scale("judge", {RunFlags("")[0], "--candidates=" + folder.Path("whole"), "--scorer=mean_log_probability",
                                       "--samples=1", "--json"});
  EXPECT_EQ(judged.code, 0) << judged.errors;
}

TEST(ScaleBeam, OtherSettingsAreRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(Scale("run", RunFlags(folder.Path("texts"))).code, 0);
  const auto refused = [](const std::vector<std::string>& flags, const std::string& says) {
    const Ended ended = Scale("run", flags);
    EXPECT_EQ(ended.code, 2) << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors << "\nexpected " << says;
  };
  for (const char* const other : {"--beam=2x3", "--step_delimiter=t", "--most_steps=3", "--scorer=self_certainty", "--seed=9"}) {
    refused(And(RunFlags(folder.Path("texts")), {other}), "line 1: settings: found gsm8k, problems sha256 ");
  }
  refused(And(RunFlags(folder.Path("new")), {"--samples=4"}), "--samples: found beside --beam");
  std::vector<std::string> flags = RunFlags(folder.Path("new"));
  flags[3] = "--scorer=self_certainty";
  flags[4] = "--seed=0";
  refused(flags, "--scorer: found without --beam");
}

TEST(BeamFlags, HeaderExample) {
  const BeamOptions beams = *ParseBeamShape("4x4");
  EXPECT_EQ(beams.width, 4);
  EXPECT_EQ(beams.expansions, 4);
  EXPECT_EQ(ParseBeamShape("64x1")->width, 64);
  EXPECT_EQ(FieldOf(ParseBeamShape("65x1").status()), "beam");
}

TEST(BeamReport, HeaderExample) {
  const BeamTexts written = {
      .texts = {{.tokens = {1, 2}, .text = "9 * 2 = 18.\n\nSo 18.", .reason = FinishReason::kEndToken, .score = 0.75, .path = {3, 1}}},
      .kept = {{.step = 1, .beam = 1, .score = 0.5, .text = "9 * 2 = 18.\n\n"},
               {.step = 2, .beam = 1, .from = 1, .score = 0.75, .ended = true, .text = "So 18."}},
      .steps = 8,
      .scoring_seconds = 0.25,
      .passes = {.passes = 4, .rows = 10}};
  EXPECT_EQ(BeamTable(written, "judge"),
            "step  beam  from   score  ended  text\n"
            "----  ----  ----  ------  -----  ---------------\n"
            "   1     1     -  0.5000         9 * 2 = 18.\\n\\n\n"
            "   2     1     1  0.7500  yes    So 18.\n"
            "2 of 8 steps kept, scored by judge in 0.25 s; 2.5 rows per pass\n");
  JsonWriter json;
  WriteBeams(json.BeginObject(), {.width = 2, .expansions = 4}, "judge", written);
  json.EndObject();
  const JsonValue read = Json(json.text());
  EXPECT_EQ(*read.String("beam"), "2x4");
  EXPECT_EQ(*read.Double("score"), 0.75);
  const JsonValue texts = *read.Array("texts");
  EXPECT_EQ(*texts[0].Ints("path"), (std::vector<int64_t>{3, 1}));
}

TEST(TextBeginning, HeaderExample) {
  EXPECT_EQ(TextBeginning("She makes 9 * 2 = 18.\n\nSo"), "She makes 9 * 2 = 18.\\n\\nSo");
  EXPECT_EQ(TextBeginning(std::string(61, 'a')), std::string(60, 'a') + "...");
  EXPECT_EQ(TextBeginning(std::string(59, 'a') + "é."), std::string(59, 'a') + "...") << "no half of a character";
  EXPECT_EQ(TextBeginning(std::string(59, 'a') + "b"), std::string(59, 'a') + "b");
}

}  // namespace
}  // namespace tessera
