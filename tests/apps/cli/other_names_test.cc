#include "tessera/apps/cli/other_names.h"

#include <string>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

TEST(OtherNames, HeaderExample) {
  std::string said;
  const auto Say = [&](const auto&... parts) { said = absl::StrCat(parts...); };
  const OtherName* other = FindOtherName("ctx_size");
  if (other != nullptr && *other->ours != 0) Say("did you mean --", other->ours, "?");
  EXPECT_EQ(said, "did you mean --context?");
  EXPECT_EQ(FindOtherName("zzz"), nullptr);
}

TEST(OtherNames, OursAreFlags) {
  gflags::CommandLineFlagInfo info;
  for (const OtherName& other : OtherNames()) {
    EXPECT_EQ(FindOtherName(other.theirs), &other) << other.theirs << " stands there twice";
    EXPECT_EQ(absl::string_view(other.theirs).find_first_of("- "), absl::string_view::npos) << other.theirs << " would never be found";
    const bool has_flag = *other.ours != 0, has_note = *other.note != 0;
    EXPECT_NE(has_flag, has_note) << other.theirs;
    if (has_flag) {
      EXPECT_TRUE(gflags::GetCommandLineFlagInfo(other.ours, &info)) << other.ours;
    }
  }
}

// Each says our name, or why there is none, however it is spelled.
TEST(OtherNames, AllAreAnswered) {
  for (const char* flag :
       {"repeat_last_n", "n_ctx", "ngl", "t", "c", "no_mmap", "mlock", "flash_attn", "fa", "cache_type_k", "lora", "grammar",
        "json_schema", "interactive", "i", "cnv", "md", "model_draft", "draft", "repeat_penalty", "file", "f", "log_disable",
        "no_warmup", "batch_size", "b", "ubatch_size", "n_gpu_layers", "ctx_size", "logprobs", "n_probs", "embedding", "numa", "cpu_mask",
        "cpu_range", "context_shift", "no_context_shift", "keep"}) {
    const OtherName* const other = FindOtherName(flag);
    ASSERT_NE(other, nullptr) << flag;
    const std::string answer = *other->ours != 0 ? absl::StrCat(": did you mean --", other->ours, "?") : absl::StrCat(": ", other->note);
    for (const std::string& typed : {absl::StrCat("--", flag), absl::StrCat("-", flag),
                                     absl::StrCat("--", absl::StrReplaceAll(flag, {{"_", "-"}}), "=1")}) {
      const Ended ended = RunProgram("tessera_generate", {typed});
      EXPECT_EQ(ended.code, 2) << typed;
      EXPECT_NE(ended.errors.find(answer), std::string::npos) << typed << ": " << ended.errors;
    }
  }
  EXPECT_EQ(RunProgram("tessera_generate", {"--n-predict=x"}).errors.find("unknown flag"), std::string::npos) << "ours, with a hyphen";
}

TEST(OtherNames, ErrorsNameOurFlag) {
  const std::pair<const char*, const char*> cases[] = {
      {"--temp=0", "--temp: did you mean --temperature?"},         {"--ctx-size", "--ctx-size: did you mean --context?"},
      {"-n", "-n: did you mean --n_predict?"},                     {"-p", "-p: did you mean --prompt?"},
      {"-m", "-m: did you mean --model?"},                         {"--max_tokens=5", "--max_tokens: did you mean --n_predict?"},
      {"-c", "-c: did you mean --context?"},                       {"-t=4", "-t: did you mean --threads?"},
      {"--repeat-penalty", "--repeat-penalty: did you mean --repetition_penalty?"},
      {"--mem", "--mem: did you mean --memory_budget?"},           {"--prom", "--prom: did you mean --prompt or --prompt_file?"},
      {"--temper=1", "--temper: did you mean --temperature?"},     {"--n-predictt", "--n-predictt: did you mean --n_predict?"},
      {"-np=4", "-np: did you mean --parallel?"},                  {"--n_samples=3", "--n_samples: did you mean --answers?"},
      {"--stream", "--stream: text is always written as it comes, so leave it out"},
      {"-ngl", "-ngl: every layer is computed on the CPU, so leave it out"},
      {"--n-probs=5", "--n-probs: probabilities are not written beside an answer; tessera_logits shows them for a given text"},
      {"--embedding",
       "--embedding: a text's embedding is not computed; tessera_quantize states writes hidden states, of which one can be made"},
      {"--numa=distribute", "--numa: memory lies where the system puts it; numactl starts a program on one node"},
      {"--cpu-mask=f", "--cpu-mask: threads run where the system puts them, and --threads=N says how many; taskset starts a program on "
                       "some CPUs"},
      {"--no-context-shift",
       "--no-context-shift: nothing is shifted out of a full context: the answer ends there, and --context=N makes room"},
  };
  for (const auto& [flag, error] : cases) {
    const Ended ended = RunProgram("tessera_generate", {flag});
    EXPECT_EQ(ended.code, 2) << flag;
    EXPECT_EQ(ended.errors, absl::StrCat("tessera_generate: unknown flag ", error, "\nTry tessera_generate --help.\n"));
  }
  EXPECT_EQ(RunProgram("tessera_inspect", {"--temp=1"}).errors,
            "tessera_inspect: unknown flag --temp\nTry tessera_inspect --help.\n") << "it has no such flag";
}

TEST(OtherNames, TheShortNameOfHelpIsKnown) {
  const Ended ended = RunProgram("tessera_generate", {"-h"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, RunProgram("tessera_generate", {"--help"}).output);
}

}  // namespace
}  // namespace tessera
