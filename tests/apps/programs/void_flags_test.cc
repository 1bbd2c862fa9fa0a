// Flags that others leave nothing to do: each is refused or, where other engines take such command lines every day, named in a warning.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/programs/short_run.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kTexts[] = "the in the\nthe in the in\n";

// A short run of the program, or what is asked of the model itself: `flags` after the flags of ShortRun.
struct Case {
  std::string program;
  std::vector<std::string> flags;
  std::string said;                 // On standard error; empty: nothing about flags.
  std::string input = kTexts;

  Ended Run() const {
    std::vector<std::string> all = ShortRun(program);
    all.insert(all.end(), flags.begin(), flags.end());
    return RunProgram(program, all, input);
  }
  std::string Name() const { return absl::StrCat(program, " ", absl::StrJoin(flags, " "), ": "); }
};

void ExpectRefused(const Case& each) {
  const Ended ended = each.Run();
  EXPECT_EQ(ended.code, 2) << each.Name() << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, each.said)) << each.Name() << ended.errors;
  EXPECT_EQ(ended.output, "") << each.Name();
}

class VoidFlags : public testing::Test {
 protected:
  const TemporaryFolder cache_;
  const CacheFolderFor histories_{cache_.path()};
};

TEST_F(VoidFlags, AreRefusedWithTheFlagThatDisablesThem) {
  const std::string costs = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation/flat_costs.json";
  const std::string object = "{\"text\": \"the\"}\n";
  const Case cases[] = {
      {"tessera_generate", {"--path=reference", "--kernels=portable"}, "--kernels: found portable with the reference path"},
      {"tessera_generate", {"--path=reference", "--kv_format=q8"}, "--kv_format: found 8-bit with the reference path"},
      {"tessera_generate", {"--path=reference", "--kernels=portable", "--dry_run"}, "--kernels: found portable with the reference path"},
      {"tessera_bench speed", {"--path=reference", "--kernels=portable"}, "--kernels: found portable with the reference path"},
      {"tessera_generate", {"--speculate=none", "--cost_profile=" + costs}, "--cost_profile: found with speculate=none"},
      {"tessera_generate", {"--history_prompts"}, "--history_prompts: found without history"},
      {"tessera_generate", {"--pin=none"}, "--pin: found without --memory_budget"},
      {"tessera_inspect", {"--path=reference"}, "--path: found without --graph"},
      {"tessera_inspect", {"--verify", "--path=reference"}, "--path: found without --graph"},
      {"tessera_inspect", {"--threads=1"}, "--threads: found without --verify"},
      {"tessera_inspect", {"--graph", "--threads=1"}, "--threads: found without --verify"},
      {"tessera_logits", {"--jsonl", "--special"}, "--special: found beside --jsonl"},
      {"tessera_tokenize", {"--show_prompt"}, "--show_prompt: found without a dialogue"},
      {"tessera_bench rows", {"--peer_curve=" + costs}, "--peer_curve: found without --plot"},
      {"tessera_bench spec", {"--remember", "--speculate=lookup,recycling"}, "--remember: found with --speculate=lookup,recycling"},
      {"tessera_bench spec", {"--remember", "--speculate=oracle"}, "--remember: found with --speculate=oracle"},
      {"tessera_verify", {"--speculate=lookup"},
       "--speculate: found a value that neither --a=\"speculate=none\" nor --b=\"speculate=auto\" takes"},
      {"tessera_verify", {"--threads=1", "--a=threads=1", "--b=threads=2"}, "--threads: found a value that neither"},
      {"tessera_verify", {"--a=model=a", "--b=model=b"}, "--model: found a value that neither"},
      {"tessera_verify", {"--history=mail", "--b=speculate=lookup"}, "--history: found a value that neither"},
      {"tessera_verify", {"--b=speculate=lookup history=mail"}, "--b: the setting history: found \"mail\", expected drafters that read it"},
      {"tessera_verify", {"--kernels=portable", "--a=path=reference", "--b=path=reference"}, "--kernels: found a value that neither"},
      {"tessera_verify", {"--kernels=portable", "--path=reference"}, "--kernels: found a value that neither"},
      {"tessera_verify", {"--b=path=reference kernels=portable"}, "--b: --kernels: found portable with the reference path"},
      {"tessera_verify", {"--raw"}, "--raw: found beside an object (standard input, line 1)", object},
      {"tessera_verify", {"--system=Rhyme.", "--chat_template=chatml"}, "--system: found beside an object (standard input, line 1)",
       object},
  };
  for (const Case& each : cases) ExpectRefused(each);
}

TEST_F(VoidFlags, OfTheNpuPathAreRefusedElsewhere) {
  const Case cases[] = {
      {"tessera_generate", {"--path=npu", "--kv_format=q8"}, "--kv_format: found 8-bit with the npu path, which keeps FP16"},
      {"tessera_generate", {"--recipe=001"}, "--recipe: found 001 with the fast path, which computes with the file's own forms"},
      {"tessera_generate", {"--recipe=001", "--path=reference"}, "--recipe: found 001 with the reference path"},
      {"tessera_generate", {"--path=npu", "--recipe=int4-tile,head=fp16"}, "--recipe: found head=fp16, expected keep or a block format"},
      {"tessera_bench speed", {"--recipe=qnn", "--dry_run"}, "--recipe: found qnn with the fast path"},
      {"tessera_generate", {"--kv_block=512"}, "--kv_block: found 512 with the fast path, which has no such blocks, expected the npu path"},
      {"tessera_generate", {"--kv_block=64", "--path=reference"}, "--kv_block: found 64 with the reference path"},
      {"tessera_bench speed", {"--kv_block=64", "--dry_run"}, "--kv_block: found 64 with the fast path"},
      {"tessera_logits", {"--kv_block=-16", "--path=npu"}, "--kv_block: found -16, expected 0 (512) or a multiple of 16 up to 4096"},
      {"tessera_logits", {"--kv_block=24", "--path=npu"}, "--kv_block: found 24, expected 0 (512) or a multiple of 16 up to 4096"},
      {"tessera_perplexity", {"--kv_block=4112", "--path=npu"}, "--kv_block: found 4112, expected 0 (512) or a multiple of 16 up to 4096"},
      {"tessera_perplexity", {"--kv_block=64", "--table=attention"}, "--kv_block: found it with --table"},
      {"tessera_verify", {"--kv_block=64"}, "--kv_block: found a value that neither"},
      {"tessera_verify", {"--b=kv_block=64"}, "--b: --kv_block: found 64 with the fast path"},
      {"tessera_inspect", {"--path=npu", "--recipe=qnn"}, "--path: found without --graph"},
      {"tessera_inspect", {"--recipe=qnn"}, "--recipe: found without --graph"},
      {"tessera_inspect", {"--graph", "--recipe=qnn"}, "--recipe: found qnn with the fast path"},
      {"tessera_verify", {"--recipe=001"}, "--recipe: found a value that neither"},
      {"tessera_verify", {"--kv_format=q8", "--path=npu"}, "--kv_format: found a value that neither"},
      {"tessera_verify", {"--b=recipe=001"}, "--b: --recipe: found 001 with the fast path"},
  };
  for (const Case& each : cases) ExpectRefused(each);
}

TEST_F(VoidFlags, AboutSeveralTextsAreRefusedWhereThereIsOne) {
  const std::string object = "{\"id\": 1, \"text\": \"the\"}\n";
  const Case cases[] = {
      {"tessera_generate", {"--parallel=2"}, "--parallel: found without --jsonl"},
      {"tessera_generate", {"--parallel=1", "--chat"}, "--parallel: found without --jsonl"},
      {"tessera_generate", {"--jsonl", "--parallel=0"}, "--parallel: found 0, expected 1 to 64", object},
      {"tessera_generate", {"--jsonl", "--parallel=65"}, "--parallel: found 65, expected 1 to 64", object},
      {"tessera_generate", {"--jsonl", "--unordered"}, "--unordered: found without --parallel", object},
      {"tessera_generate", {"--unordered"}, "--unordered: found without --parallel"},
      {"tessera_generate", {"--jsonl", "--answers=2"}, "--answers: found beside --jsonl", object},
      {"tessera_generate", {"--chat", "--answers=2"}, "--answers: found beside --chat"},
      {"tessera_generate", {"--answers=0"}, "--answers: found 0, expected 1 to 64"},
      {"tessera_generate", {"--answers=2", "--temperature=0"}, "--answers: found 2 with temperature 0, expected 1"},
      {"tessera_generate", {"--answers=2", "--top_k=1"}, "--answers: found 2 with top_k 1, expected 1"},
      {"tessera_generate", {"--distinct_first_tokens"}, "--distinct_first_tokens: found without several answers, expected both"},
      {"tessera_generate", {"--distinct_first_tokens", "--answers=1"}, "--distinct_first_tokens: found without several answers"},
      {"tessera_generate", {"--distinct_first_tokens", "--answers=65"}, "--answers: found 65, expected 1 to 64"},
      {"tessera_generate", {"--jsonl", "--distinct_first_tokens"}, "--distinct_first_tokens: found beside --jsonl", object},
      {"tessera_generate", {"--cache_tokens=512"}, "--cache_tokens: found without --parallel or --answers"},
      {"tessera_generate", {"--answers=2", "--context=64", "--cache_tokens=32"}, "--cache_tokens: found 32, expected at least 64"},
      {"tessera_generate", {"--answers=2", "--context=64", "--cache_tokens=32", "--dry_run"}, "--cache_tokens: found 32"},
      {"tessera_generate", {"--answers=2", "--cache_tokens=-1"}, "--cache_tokens: found -1, expected 0 to"},
  };
  for (const Case& each : cases) ExpectRefused(each);
}

TEST_F(VoidFlags, ThatDoNoHarmAreNamedInAWarning) {
  const std::string greedy = "--temperature=0";
  const Case cases[] = {
      {"tessera_generate", {greedy, "--top_k=5", "--top_p=0.5", "--min_p=0.1"},
       "warning: of no effect: --top_k with temperature 0, --top_p with temperature 0, --min_p with temperature 0\n"},
      {"tessera_generate", {"--top_k=1", "--temperature=0.7", "--top_p=0.5"},
       "warning: of no effect: --temperature with top_k 1, --top_p with top_k 1\n"},
      {"tessera_generate", {"--penalty_window=5"}, "warning: of no effect: --penalty_window with repetition_penalty 1\n"},
      {"tessera_generate", {greedy, "--penalty_window=0", "--repetition_penalty=1.2"},
       "warning: of no effect: --repetition_penalty with penalty_window 0\n"},
      {"tessera_generate", {greedy, "--top_k=5", "--jsonl"}, "warning: of no effect: --top_k with temperature 0\n",
       "{\"id\": 1, \"text\": \"the\"}\n"},
      {"tessera_verify", {greedy, "--top_k=5"}, "warning: of no effect: --top_k with temperature 0\n"},
      {"tessera_generate", {"--speculate=lookup", "--history=mail"},
       "warning: history: answers are kept, but nothing is drafted from them"},
      {"tessera_inspect", {"--verify", "--threads=256"}, "warning: threads: found 256, takes "},
  };
  for (const Case& each : cases) {
    const Ended ended = each.Run();
    EXPECT_EQ(ended.code, 0) << each.Name() << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, each.said)) << each.Name() << ended.errors;
  }
}

TEST_F(VoidFlags, ThatAgreeWithTheOthersAreTakenInSilence) {
  const std::string greedy = "--temperature=0";
  const Case cases[] = {
      {"tessera_generate", {greedy, "--top_k=0", "--top_p=1", "--min_p=0", "--penalty_window=0"}, ""},
      {"tessera_generate", {greedy, "--top_k=1", "--seed=7", "--repetition_penalty=1.2", "--penalty_window=9"}, ""},
      {"tessera_generate", {"--top_k=1", "--top_p=1", "--repetition_penalty=1"}, ""},
      {"tessera_generate", {"--temperature=0.5", "--top_k=5", "--top_p=0.5", "--min_p=0.1"}, ""},
      {"tessera_generate", {"--path=reference", "--kernels=auto", "--kv_format=f16"}, ""},
      {"tessera_generate", {"--speculate=none", "--history=mail"}, ""},
      {"tessera_inspect", {"--graph", "--path=reference"}, ""},
      {"tessera_inspect", {"--graph", "--path=npu", "--recipe=qnn"}, ""},
      {"tessera_generate", {"--path=npu", "--recipe=common-tile,head=Q8_0", "--kv_format=f16"}, ""},
      {"tessera_generate", {"--path=npu", "--kv_block=16"}, ""},
      {"tessera_generate", {"--kv_block=0"}, ""},
      {"tessera_bench spec", {"--remember", "--speculate=suffix"}, ""},
      {"tessera_verify", {"--a=threads=1", "--threads=2"}, ""},
  };
  for (const Case& each : cases) {
    const Ended ended = each.Run();
    EXPECT_EQ(ended.code, 0) << each.Name() << ended.errors;
    EXPECT_FALSE(absl::StrContains(ended.errors, "warning: ")) << each.Name() << ended.errors;
  }
}

// A flag for both ways counts in that which can take it: their numbers differ, and they are compared.
TEST_F(VoidFlags, OfOneWayAloneCountForTheOther) {
  const Case each = {"tessera_verify", {"--kernels=portable", "--kv_format=q8", "--b=path=reference"}, ""};
  const Ended ended = each.Run();
  EXPECT_EQ(ended.code, 1) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "different: prompt 1")) << ended.output << ended.errors;
}

TEST_F(VoidFlags, ADryRunNamesTheFilesThatStayUnwritten) {
  const std::string trace = "--trace=" + cache_.Path("t"), costs = "--cost_profile=" + cache_.Path("c");
  const Case all = {"tessera_generate", {"--dry_run", trace, costs, "--history=mail"}, ""};
  EXPECT_TRUE(absl::StrContains(all.Run().errors,
                                "A dry run writes nothing, not the file of --trace or --history or --cost_profile either.\n"));
  const Case plot = {"tessera_bench spec", {"--dry_run", "--plot=" + cache_.Path("p")}, ""};
  EXPECT_TRUE(absl::StrContains(plot.Run().errors, "not the file of --plot either"));
  const Case none = {"tessera_generate", {"--dry_run"}, "", /*input=*/""};
  EXPECT_FALSE(absl::StrContains(none.Run().errors, "A dry run writes"));
  for (const char* file : {"t", "c", "p", "history"}) EXPECT_NE(access(cache_.Path(file).c_str(), F_OK), 0) << file;
  for (const std::string program : {"tessera_pack", "tessera_quantize", "tessera_random_model", "tessera_quantize statistics"}) {
    const Ended ended = Case{program, {"--dry_run", "--out=/nowhere/model"}, ""}.Run();
    EXPECT_EQ(ended.code, 2) << program;
    EXPECT_TRUE(absl::StrContains(ended.errors, "--out: ")) << ended.errors;
  }
}

TEST_F(VoidFlags, ThatARequestLeavesNothingToShowAreRefused) {
  const Case text = {"tessera_tokenize", {"--jsonl", "--show_prompt"}, "", "{\"id\": 1, \"text\": \"the\"}\n"};
  const Ended ended = text.Run();
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "line 1: found text, expected messages, the text of which --show_prompt shows"))
      << ended.errors;
}

TEST_F(VoidFlags, FieldsOfARequestThatAreNotReadAreRefused) {
  for (const std::string name : {"max_tokens", "frequency_penalty", "N"}) {
    const Case each = {"tessera_generate", {"--jsonl"}, "", absl::StrCat("{\"id\": 1, \"text\": \"the\", \"", name, "\": 1}\n")};
    const Ended ended = each.Run();
    EXPECT_EQ(ended.code, 1) << name;
    EXPECT_TRUE(absl::StrContains(ended.errors, absl::StrCat("line 1: ", name, ": found a field that is not read"))) << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
