// tessera_pack, and the other programs on what it writes.
#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/random.h"
#include "tessera/storage/tsr_check.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class Pack : public ::testing::Test {
 protected:
  std::string Contents(const std::string& path) const { return *ReadFileToString(path, int64_t{1} << 28); }
  void PackTiny(const std::string& name) const { EXPECT_EQ(RunProgram("tessera_pack", {TinyPath(name), out_}).code, 0) << name; }

  // Whole, and without damage.
  static void ExpectSound(const std::string& path) {
    const auto reader = TsrReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    ThreadPool pool(1);
    EXPECT_TRUE(FindDamage(**reader, pool, [](int64_t, int64_t) {}).empty());
  }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.Path("model.tsr");
};

TEST_F(Pack, ReportsTheWrittenFile) {
  const Ended text = RunProgram("tessera_pack", {TinyPath("llama"), out_});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_TRUE(absl::StrContains(text.output, out_)) << text.output;
  const Ended ended = RunProgram("tessera_pack", {"--json", "--model=" + TinyPath("llama"), "--out=" + out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue json = *JsonValue::Parse(ended.output);
  const auto reader = *TsrReader::Open(out_);
  EXPECT_EQ(*json.String("path"), out_);
  EXPECT_EQ(*json.String("uuid"), FormatTsrUuid(reader->uuid()));
  EXPECT_EQ(*json.Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(out_)));
  EXPECT_EQ(*json.Int("units"), reader->units());
  EXPECT_GT(*json.Double("seconds"), 0);
  ExpectSound(out_);
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(Pack, ARecipeWithTilesMakesAFileForTheNpuPath) {
  const Ended ended = RunProgram("tessera_pack", {"--json", "--recipe=001", "--model=" + TinyPath("llama"), "--out=" + out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(*Json(ended.output).String("recipe"), "int4-tile,ffn_down=int8-tile");
  ExpectSound(out_);
  const Ended shown = RunProgram("tessera_inspect", {"--model=" + out_});
  EXPECT_TRUE(absl::StrContains(shown.output, "layout tessera-tiles-1, recipe 001")) << shown.output;
  EXPECT_TRUE(absl::StrContains(shown.output, "int8-tile")) << shown.output;
  EXPECT_EQ(RunProgram("tessera_inspect", {"--verify", "--model=" + out_}).code, 0);
  const Ended fast = RunProgram("tessera_generate", {"--model=" + out_, "--prompt=a", "--n_predict=1"});
  EXPECT_EQ(fast.code, 1);
  EXPECT_TRUE(absl::StrContains(fast.errors, "tessera_pack MODEL.gguf MODEL.tsr")) << fast.errors;
  const std::vector<std::string> npu = {"--path=npu", "--raw", "--prompt=a", "--n_predict=8", "--temperature=0"};
  std::vector<std::string> packed = npu, gguf = npu;
  packed.push_back("--model=" + out_);
  gguf.push_back("--model=" + TinyPath("llama"));
  const Ended text = RunProgram("tessera_generate", packed);
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_EQ(text.output, RunProgram("tessera_generate", gguf).output);
  EXPECT_EQ(RunProgram("tessera_pack", {"--recipe=int5", TinyPath("llama"), out_}).code, 2);
}

TEST_F(Pack, ARecipeThatDoesNotFitSomeRowsNamesTheSubstitute) {
  const Ended ended = RunProgram("tessera_pack", {"--json", "--recipe=int4-tile,ffn_down=Q6_K", TinyPath("llama"), out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue instead = *Json(ended.output).Array("instead");
  ASSERT_GT(instead.size(), 0);
  EXPECT_EQ(*instead[0].String("form"), "Q8_0");
  const std::string sentence = "Q8_0 instead of Q6_K in ";
  const Ended table = RunProgram("tessera_pack", {"--dry_run", "--recipe=int4-tile,ffn_down=Q6_K", TinyPath("llama")});
  EXPECT_TRUE(absl::StrContains(table.output, sentence)) << table.output;
  const Ended of_run = RunProgram("tessera_generate", {"--path=npu", "--recipe=int4-tile,ffn_down=Q6_K", "--raw", "--prompt=a",
                                                       "--n_predict=2", "--model=" + TinyPath("llama")});
  ASSERT_EQ(of_run.code, 0) << of_run.errors;
  EXPECT_TRUE(absl::StrContains(of_run.errors, sentence)) << of_run.errors;
}

TEST_F(Pack, HoldsSomeUnitsAndNotTheModel) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const Ended ended = RunProgram("tessera_pack", {"--json", "--threads=2", "--model=" + model, "--out=" + out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue json = Json(ended.output);
  EXPECT_LT(*json.Int("peak_memory_bytes"), *json.Int("bytes") / 2);
}

TEST_F(Pack, ADryRunForetellsTheSizeAndWritesNothing) {
  const Ended dry = RunProgram("tessera_pack", {"--dry_run", "--json", TinyPath("gemma3")});
  ASSERT_EQ(dry.code, 0) << dry.errors;
  EXPECT_EQ(folder_.Files(), 0);
  PackTiny("gemma3");
  EXPECT_EQ(*JsonValue::Parse(dry.output)->Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(out_)));
}

TEST_F(Pack, ADryRunRefusesLikeARun) {
  for (const std::string& out : std::vector<std::string>{"/nonexistent/x.tsr", TinyPath("gemma3")}) {
    const Ended dry = RunProgram("tessera_pack", {"--dry_run", TinyPath("gemma3"), out}),
                run = RunProgram("tessera_pack", {TinyPath("gemma3"), out});
    EXPECT_EQ(run.code, 2) << run.errors;
    EXPECT_EQ(dry.code, 2) << out;
    EXPECT_EQ(dry.errors, run.errors);
  }
  EXPECT_EQ(RunProgram("tessera_pack", {"--dry_run", TinyPath("gemma3"), out_}).code, 0);
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(Pack, AFileCutWithinItsMagicIsReportedAsNoPackedModel) {
  PackTiny("llama");
  for (const int bytes : {7, 4, 1, 0}) {
    std::filesystem::resize_file(out_, bytes);
    const Ended ended = RunProgram("tessera_inspect", {"--model=" + out_});
    EXPECT_EQ(ended.code, 1);
    EXPECT_TRUE(absl::StrContains(ended.errors, "nor does it begin as a .tsr file does")) << ended.errors;
  }
}

TEST_F(Pack, EveryProgramAnswersAsOnTheGgufFile) {
  PackTiny("llama");
  const std::pair<std::string, std::vector<std::string>> runs[] = {
      {"tessera_generate", {"--raw", "--prompt=the", "--n_predict=8", "--temperature=0"}},
      {"tessera_logits", {"--prompt=the in"}},
      {"tessera_perplexity", {"--prompt=the in the", "--window=4"}},
      {"tessera_tokenize", {"--prompt=the in the"}},
      {"tessera_inspect", {"--graph"}}};
  for (const auto& [program, arguments] : runs) {
    std::vector<std::string> on_gguf = arguments, on_packed = arguments;
    on_gguf.push_back("--model=" + TinyPath("llama"));
    on_packed.push_back("--model=" + out_);
    const Ended expected = RunProgram(program, on_gguf), found = RunProgram(program, on_packed);
    EXPECT_EQ(expected.code, 0) << program << expected.errors;
    EXPECT_EQ(found.code, 0) << program << found.errors;
    EXPECT_EQ(found.output, expected.output) << program;
  }
  EXPECT_EQ(RunProgram("tessera_bench speed", {"--model=" + out_, "--prompt_tokens=2", "--generate_tokens=1", "--repetitions=1"}).code,
            0);
  EXPECT_EQ(RunProgram("tessera_generate", {"--model=" + out_, "--dry_run"}).code, 0);
}

TEST_F(Pack, InspectShowsUnitsAndNamesDamage) {
  PackTiny("llama");
  const auto reader = *TsrReader::Open(out_);
  const Ended text = RunProgram("tessera_inspect", {"--model=" + out_});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_TRUE(absl::StrContains(text.output, absl::StrCat(": tsr version 1.1, "))) << text.output;
  EXPECT_TRUE(absl::StrContains(text.output, "layout tessera-panels-1")) << text.output;
  const JsonValue json = *JsonValue::Parse(RunProgram("tessera_inspect", {"--json", "--model=" + out_}).output);
  const JsonValue units = *json.Array("units");
  ASSERT_EQ(units.size(), reader->units());
  EXPECT_EQ(*units[1].Int("offset"), reader->UnitOffset(1));
  EXPECT_EQ(*(*units[1].Array("entries"))[0].String("name"), reader->Entries(1)[0].name);

  const Ended good = RunProgram("tessera_inspect", {"--verify", "--model=" + out_});
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_TRUE(absl::StrContains(good.output, out_ + ": nothing wrong\n")) << good.output;
  std::fstream file(out_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(reader->UnitOffset(1) + 5);
  file.put('\x55').put('\x66');
  file.close();
  const Ended bad = RunProgram("tessera_inspect", {"--verify", "--json", "--model=" + out_});
  EXPECT_EQ(bad.code, 1);
  const JsonValue problem = (*JsonValue::Parse(bad.output)->Array("problems"))[0];
  EXPECT_EQ(*problem.Int("offset"), reader->UnitOffset(1));
  EXPECT_TRUE(absl::StrContains(*problem.String("message"), "unit 1, blk.0.")) << *problem.String("message");
}

TEST_F(Pack, InspectDoesNotTakeAPolicyForACheck) {
  for (const char* policy : {"first", "never"}) {
    const Ended ended = RunProgram("tessera_inspect", {absl::StrCat("--verify=", policy), "--model=" + TinyPath("llama")});
    EXPECT_EQ(ended.code, 2) << policy;
    const std::string expected = absl::StrCat("--verify: found ", policy, ", expected no value, or always");
    EXPECT_TRUE(absl::StrContains(ended.errors, expected)) << ended.errors;
  }
  EXPECT_EQ(RunProgram("tessera_inspect", {"--verify=always", "--model=" + TinyPath("llama")}).code, 0);
}

TEST_F(Pack, AFileThatIsNotPackedIsNotReplaced) {
  std::ofstream(out_) << "a letter";
  const Ended ended = RunProgram("tessera_pack", {TinyPath("llama"), out_});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.errors.substr(0, ended.errors.find('\n')),
            "tessera_pack: --out: " + out_ + ": found a file that is no .tsr file, expected one, or none");
  EXPECT_EQ(Contents(out_), "a letter");
}

TEST_F(Pack, WrongUsageIsNamed) {
  PackTiny("llama");
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"--out: found none, expected a file to write", {TinyPath("llama")}},
      {"--model: " + out_ + ": found a packed model, expected a GGUF file", {out_, folder_.Path("other.tsr")}},
      {"unexpected argument \"c\"", {TinyPath("llama"), out_, "c"}},
      {"--out: /nowhere/model.tsr: ", {TinyPath("llama"), "/nowhere/model.tsr"}}};
  for (const auto& [message, arguments] : cases) {
    const Ended ended = RunProgram("tessera_pack", arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_EQ(ended.errors.rfind("tessera_pack: " + message, 0), 0u) << ended.errors;
  }
}

// At any moment there is the old file or the whole new one; the next writer removes what a killed writer leaves. Moments are counted in the
// time for which the program computes: the first run, which nobody kills, says how long that is.
TEST_F(Pack, KilledAtAnyMomentThePackerLeavesAWholeFile) {
  const int64_t all_micros = RunProgram("tessera_pack", {TinyPath("gemma3"), out_}).cpu_micros;
  PackTiny("llama");
  SeededRandom random(1);
  int killed = 0, replaced = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string old = Contents(out_);
    Program program("tessera_pack", {TinyPath("gemma3"), out_});
    if (program.Computes(random.Below(all_micros + all_micros / 8))) program.Signal(SIGKILL);
    killed += program.Finish("").code == 128 + SIGKILL;
    if (Contents(out_) == old) continue;
    ++replaced;
    ExpectSound(out_);
  }
  EXPECT_GE(killed, 20) << "of 100";
  PackTiny("llama");
  EXPECT_EQ(folder_.Files(), 1) << "the temporary files of " << killed << " killed writers, " << replaced << " that were not";
}

// A limit on file sizes, and a file system that is too small.
TEST_F(Pack, AFullDiskLeavesTheOldFileAndNothingElse) {
  PackTiny("llama");
  const std::string old = Contents(out_), program = std::string(TESSERA_BINARY_DIR) + "/bin/tessera_pack ",
                    message = folder_.Path("message");
  const std::string limited = "ulimit -f 200; " + program + TinyPath("gemma3") + " " + out_ + " 2> " + message;
  EXPECT_EQ(WEXITSTATUS(system(limited.c_str())), 1);
  EXPECT_TRUE(absl::StrContains(Contents(message), out_ + ": cannot take ")) << Contents(message);
  EXPECT_EQ(Contents(out_), old);
  EXPECT_EQ(folder_.Files(), 2);

  const std::string mount = folder_.Path("small");
  std::filesystem::create_directory(mount);
  const std::string inside =
      absl::StrCat("mount -t tmpfs -o size=200k none ", mount, " && { ", program, TinyPath("gemma3"), " ", mount,
                   "/model.tsr 2> ", message, "; code=$?; ls -A ", mount, " | wc -l >> ", message, "; exit $code; }");
  const int code = WEXITSTATUS(system(absl::StrCat("unshare --mount sh -c '", inside, "' 2> /dev/null").c_str()));
  if (!absl::StrContains(Contents(message), mount)) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(absl::StrContains(Contents(message), mount + "/model.tsr: room on the disk: found ")) << Contents(message);
  EXPECT_TRUE(absl::EndsWith(Contents(message), "\n0\n")) << Contents(message);
}

}  // namespace
}  // namespace tessera
