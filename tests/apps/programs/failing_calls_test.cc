// A call of each program fails: of opening, reading, writing, syncing, putting in place. It ends with exit code 1 and an error that names
// the file and says what the system said; what was there before is as it was, and nothing is half written.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/tests/fakes/programs/failing_call_run.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

// How much of the text that the program writes without a failing call is there.
enum class Text { kNone, kBeginning, kAll, kUnknown };  // kUnknown: each run's is another, as times are.

struct Case {
  const char* program;
  const char* flags;  // @ is the folder of the files.
  Call call;
  const char* says;   // What the last line names, also with | between several.
  Text text = Text::kNone;
  const char* written = "";  // The new files that are there all the same: how their names begin.
  const char* input = "the in the";
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.program << ' ' << c.flags << ", " << c.call.function << " of " << c.call.file << ": " << std::strerror(c.call.error);
}

constexpr char kAnswer[] = "--model=@/model.gguf --n_predict=6 --temperature=0";
constexpr char kStreamed[] = "--model=@/model.tsr --memory_budget=1GiB --pin=none --io=pread --n_predict=2 --temperature=0";
constexpr char kAdapted[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --adapter=pirate:@/pirate";
constexpr char kKept[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --trace=@/trace --history=mail --cost_profile=@/costs";
constexpr char kDialogue[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --chat --chat_template=chatml";
constexpr char kKeptDialogue[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --chat --chat_template=chatml --history=mail";
constexpr char kJsonl[] = "--model=@/model.gguf --temperature=0 --jsonl";
constexpr char kInto[] = "--model=@/model.gguf --temperature=0 --jsonl --into=@/answers";
constexpr char kDrafted[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --speculate=draft --draft_model=@/old.gguf";
constexpr char kCopied[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --speculate=draft --draft_model=self:q3";
constexpr char kHeaded[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --speculate=draft --draft_model=@/eagle.safetensors";
constexpr char kPruned[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --speculate=draft --draft_model=@/old.gguf "
                           "--prune=@/exit.safetensors";
constexpr char kTraced[] = "--model=@/model.gguf --trace=@/trace";
constexpr char kWindows[] = "--model=@/model.gguf --window=4 --trace=@/trace";
constexpr char kNewPacked[] = "--model=@/model.gguf --out=@/new.tsr";
constexpr char kOldPacked[] = "--model=@/model.gguf --out=@/old.tsr";
constexpr char kNewQuantized[] = "--model=@/model.gguf --head_format=Q4_1 --out=@/new.gguf";
constexpr char kOldQuantized[] = "--model=@/model.gguf --head_format=Q4_1 --out=@/old.gguf";
constexpr char kNewStatistics[] = "--model=@/model.gguf --out=@/new.gguf";
constexpr char kOldStatistics[] = "--model=@/model.gguf --out=@/old.gguf";
constexpr char kNewStates[] = "--model=@/model.gguf --layers=0,last --logits=top:2 --out=@/new.safetensors";
constexpr char kOldStates[] = "--model=@/model.gguf --out=@/old.gguf";
constexpr char kNewRandom[] = "--shape=tiny --out=@/new.gguf";
constexpr char kOldRandom[] = "--shape=tiny --out=@/old.gguf";
constexpr char kNewAround[] = "--shape=tiny --around=@/model.gguf --out=@/new.gguf";
constexpr char kVerified[] = "--model=@/model.gguf --n_predict=2 --prompts=@/prompts";
constexpr char kSpeed[] = "--model=@/model.gguf --prompt_tokens=2 --generate_tokens=1 --repetitions=1 --trace=@/trace";
constexpr char kRows[] = "--model=@/model.gguf --rows=1,2 --repetitions=1 --plot=@/plot";
constexpr char kLever[] = "--model=@/model.gguf --draft_model=@/old.gguf --data=" TESSERA_SOURCE_DIR "/tests/data/speculation "
                          "--categories=gsm8k --texts=1 --generate_tokens=2 --systems=flash_ar,lever --reliability --plot=@/plot";
constexpr char kSpeculated[] = "--model=@/model.gguf --data=" TESSERA_SOURCE_DIR "/tests/data/speculation --categories=gsm8k --texts=1 "
                               "--generate_tokens=2 --cost_profile=@/costs";
constexpr char kRecorded[] = "--model=@/model.gguf --data=" TESSERA_SOURCE_DIR "/tests/data/speculation --speculate=sam --categories=ui "
                             "--texts=1 --generate_tokens=2";
constexpr char kRecordedDraft[] = "--model=@/model.gguf --draft_model=@/old.gguf --data=" TESSERA_SOURCE_DIR "/tests/data/speculation "
                            "--categories=gsm8k --texts=1 --generate_tokens=2";
constexpr char kSampled[] = "--model=@/model.gguf --data=" TESSERA_SOURCE_DIR "/tests/data/speculation --texts=1 --samples=2 --n_predict=2 "
                            "--into=@/samples";
constexpr char kJudged[] = "--data=" TESSERA_SOURCE_DIR "/tests/data/speculation --draws=5";
constexpr char kChecked[] = "--data=" TESSERA_SOURCE_DIR "/tests/data/speculation --task=mbpp";
constexpr char kMessages[] = "the\nin\n";
constexpr char kTexts[] = "{\"id\": 1, \"text\": \"the\"}\n{\"id\": 2, \"text\": \"in\"}\n";
constexpr char kRequests[] = "{\"id\": 1, \"text\": \"the\", \"n\": 2}\n{\"id\": 2, \"text\": \"in\", \"n\": 2}\n";

constexpr Case kAnswers[] = {
    {"tessera_generate", kAnswer, {"open", EMFILE, "/model.gguf"}, "@/model.gguf: cannot open"},
    {"tessera_generate", kAnswer, {"fstat", EIO, "/model.gguf"}, "@/model.gguf: cannot examine"},
    {"tessera_generate", kAnswer, {"pread", EIO, "/model.gguf"}, "@/model.gguf: cannot read"},
    {"tessera_generate", kAnswer, {"pread", EIO, "/model.gguf", 5}, "@/model.gguf: cannot read|(reading tensor \""},
    {"tessera_generate", kAnswer, {"read", EIO, "/dev/stdin"}, "standard input"},
    {"tessera_generate", kAnswer, {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_generate", kAnswer, {"write", EIO, "/dev/stdout", 2}, "standard output", Text::kBeginning},
    {"tessera_generate", kStreamed, {"open", EMFILE, "/model.tsr"}, "@/model.tsr: cannot open"},
    {"tessera_generate", kStreamed, {"pread", EIO, "/model.tsr"}, "@/model.tsr: cannot read"},
    {"tessera_generate", kStreamed, {"pread", EIO, "/model.tsr", 20}, "@/model.tsr: "},
    {"tessera_generate", kAdapted, {"open", EMFILE, "/adapter_config.json"}, "@/pirate/adapter_config.json: cannot open"},
    {"tessera_generate", kAdapted, {"read", EIO, "/adapter_config.json"}, "@/pirate/adapter_config.json: cannot read"},
    {"tessera_generate", kAdapted, {"open", EMFILE, "/adapter_model.safetensors"}, "@/pirate/adapter_model.safetensors: cannot open"},
    {"tessera_generate", kAdapted, {"pread", EIO, "/adapter_model.safetensors"}, "@/pirate/adapter_model.safetensors: cannot read"},
    {"tessera_generate", kAdapted, {"pread", EIO, "/adapter_model.safetensors", 2}, "@/pirate/adapter_model.safetensors: cannot read"},
};

constexpr Case kWhatAnswersLeave[] = {
    {"tessera_generate", kKept, {"openat", ENOSPC, ".tmp"}, "/mail-|@/costs: cannot create|@/trace: cannot create", Text::kAll},
    {"tessera_generate", kKept, {"write", ENOSPC, ".tmp"}, "/mail-|@/costs: cannot write|@/trace: cannot write", Text::kAll},
    {"tessera_generate", kKept, {"fsync", EIO, ".tmp"}, "/mail-|@/costs: cannot sync|@/trace: cannot sync", Text::kAll},
    {"tessera_generate", kKept, {"close", EIO, ".tmp"}, "/mail-|@/costs: cannot close|@/trace: cannot close", Text::kAll},
    {"tessera_generate", kKept, {"renameat", EACCES, "trace"}, "@/trace: cannot put the new file in place", Text::kAll, "costs cache"},
    {"tessera_generate", kKept, {"renameat", EACCES, "costs"}, "@/costs: cannot put the new file in place", Text::kAll, "trace cache"},
    {"tessera_generate", kKept, {"renameat", EACCES, ".history"}, "@/cache/history/mail-", Text::kAll, "trace costs"},
    {"tessera_generate", kKept, {"mkdir", EACCES, "/history"}, "@/cache/history: cannot make this folder", Text::kAll, "trace costs"},
    {"tessera_generate", kKeptDialogue, {"open", EMFILE, "/history"}, "@/cache/history: cannot open", Text::kAll, "", kMessages},
    {"tessera_generate", kKeptDialogue, {"write", ENOSPC, ".tmp"}, "@/cache/history/mail-", Text::kAll, "", kMessages},
    {"tessera_generate", kDialogue, {"read", EIO, "/dev/stdin"}, "standard input", Text::kNone, "", kMessages},
    {"tessera_generate", kDialogue, {"write", ENOSPC, "/dev/stdout", 3}, "standard output", Text::kBeginning, "", kMessages},
    {"tessera_generate", kJsonl, {"write", ENOSPC, "/dev/stdout", 1}, "standard output", Text::kBeginning, "", kRequests},
    {"tessera_generate", kJsonl, {"pread", EIO, "/model.gguf", 5}, "@/model.gguf: cannot read", Text::kNone, "", kRequests},
    {"tessera_generate", kInto, {"open", EMFILE, "/answers"}, "@/answers: cannot open", Text::kNone, "", kRequests},
    {"tessera_generate", kInto, {"write", ENOSPC, "/answers", 1}, "@/answers: cannot write", Text::kNone, "answers", kRequests},
};

constexpr Case kDrafts[] = {
    {"tessera_generate", kDrafted, {"open", EMFILE, "/old.gguf"}, "@/old.gguf: cannot open"},
    {"tessera_generate", kDrafted, {"fstat", EIO, "/old.gguf"}, "@/old.gguf: cannot examine"},
    {"tessera_generate", kDrafted, {"pread", EIO, "/old.gguf", 1}, "@/old.gguf: cannot read"},
    {"tessera_generate", kHeaded, {"open", EMFILE, "/eagle.safetensors"}, "@/eagle.safetensors: cannot open"},
    {"tessera_generate", kHeaded, {"pread", EIO, "/eagle.safetensors", 3}, "@/eagle.safetensors: cannot read"},
    {"tessera_generate", kHeaded, {"read", EIO, "/eagle.safetensors.json"}, "@/eagle.safetensors.json: cannot read"},
    {"tessera_generate", kPruned, {"open", EMFILE, "/exit.safetensors"}, "@/exit.safetensors: cannot open"},
    {"tessera_generate", kPruned, {"pread", EIO, "/exit.safetensors", 3}, "@/exit.safetensors: cannot read"},
    {"tessera_generate", kCopied, {"openat", ENOSPC, ".tmp"}, "@/cache/drafts/model.q3-|cannot create"},
    {"tessera_generate", kCopied, {"fallocate", ENOSPC, ".tmp"}, "@/cache/drafts/model.q3-"},
    {"tessera_generate", kCopied, {"pwrite", ENOSPC, ".tmp", 2}, "@/cache/drafts/model.q3-|cannot write at byte"},
    {"tessera_generate", kCopied, {"fsync", EIO, ".tmp"}, "@/cache/drafts/model.q3-|cannot sync"},
    {"tessera_generate", kCopied, {"pread", EIO, ".tmp"}, "@/cache/drafts/model.q3-|reading back"},
    {"tessera_generate", kCopied, {"renameat", EACCES, ".tsr"}, "@/cache/drafts/model.q3-|cannot put the new file in place"},
};

constexpr Case kReaders[] = {
    {"tessera_inspect", "--device=8gen3 --model=@/model.gguf", {"open", EMFILE, "/model.gguf"}, "@/model.gguf: cannot open"},
    {"tessera_inspect", "--device=8gen3 --model=@/model.tsr", {"pread", EIO, "/model.tsr"}, "@/model.tsr: cannot read"},
    {"tessera_inspect", "--device=8gen3 --model=@/model.gguf", {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_tokenize", "--model=@/model.gguf", {"open", EMFILE, "/model.gguf"}, "@/model.gguf: cannot open"},
    {"tessera_tokenize", "--model=@/model.gguf", {"mmap", ENOMEM, ""}, "@/model.gguf: cannot allocate"},
    {"tessera_tokenize", "--model=@/model.gguf --prompt_file=@/prompt", {"read", EIO, "/prompt"}, "@/prompt: cannot read"},
    {"tessera_tokenize", "--model=@/model.gguf", {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_tokenize", "--model=@/model.gguf --jsonl", {"write", EIO, "/dev/stdout", 1}, "standard output", Text::kBeginning, "", kTexts},
    {"tessera_inspect", "--model=@/model.gguf", {"fstat", EIO, "/model.gguf"}, "@/model.gguf: cannot examine"},
    {"tessera_inspect", "--model=@/model.tsr", {"pread", EIO, "/model.tsr"}, "@/model.tsr: cannot read"},
    {"tessera_inspect", "--model=@/model.tsr", {"mmap", ENOMEM, ""}, "@/model.tsr: cannot allocate"},
    {"tessera_inspect", "--model=@/model.tsr", {"close", EIO, "]"}, "standard output", Text::kAll},
    {"tessera_inspect", "--model=@/model.gguf", {"write", EIO, "/dev/stdout"}, "standard output"},
    {"tessera_perplexity", kWindows, {"pread", EIO, "/model.gguf", 3}, "@/model.gguf: cannot read", Text::kNone, "trace"},
    {"tessera_perplexity", kWindows, {"write", ENOSPC, "/dev/stdout"}, "standard output", Text::kNone, "trace"},
    {"tessera_perplexity", kWindows, {"fsync", EIO, ".tmp"}, "@/trace: cannot sync", Text::kAll},
    {"tessera_logits", kTraced, {"read", EIO, "/dev/stdin"}, "standard input"},
    {"tessera_logits", kTraced, {"open", EMFILE, "/model.gguf"}, "@/model.gguf: cannot open"},
    {"tessera_logits", kTraced, {"write", ENOSPC, ".tmp"}, "@/trace: cannot write", Text::kAll},
    {"tessera_logits", kTraced, {"renameat", EACCES, "trace"}, "@/trace: cannot put the new file in place", Text::kAll},
};

constexpr Case kProducts[] = {
    {"tessera_pack", kNewPacked, {"pread", EIO, "/model.gguf", 4}, "@/model.gguf: cannot read"},
    {"tessera_pack", kNewPacked, {"openat", ENOSPC, ".tmp"}, "@/new.tsr: cannot create"},
    {"tessera_pack", kNewPacked, {"fallocate", ENOSPC, ".tmp"}, "@/new.tsr: "},
    {"tessera_pack", kNewPacked, {"pwrite", ENOSPC, ".tmp", 2}, "@/new.tsr: cannot write at byte"},
    {"tessera_pack", kOldPacked, {"sync_file_range", EIO, ".tmp"}, "@/old.tsr: cannot sync"},
    {"tessera_pack", kOldPacked, {"fsync", EIO, ".tmp"}, "@/old.tsr: cannot sync"},
    {"tessera_pack", kOldPacked, {"close", EIO, ".tmp"}, "@/old.tsr: "},
    {"tessera_pack", kOldPacked, {"renameat", EACCES, "old.tsr"}, "@/old.tsr: cannot put the new file in place"},
    {"tessera_pack", kOldPacked, {"pread", EIO, ".tmp"}, "@/old.tsr: reading back"},
    {"tessera_quantize", kNewQuantized, {"pread", EIO, "/model.gguf", 4}, "@/model.gguf: cannot read"},
    {"tessera_quantize", kNewQuantized, {"openat", EMFILE, ".tmp"}, "@/new.gguf: cannot create"},
    {"tessera_quantize", kNewQuantized, {"write", ENOSPC, ".tmp", 2}, "@/new.gguf: cannot write"},
    {"tessera_quantize", kOldQuantized, {"fsync", EIO, ".tmp"}, "@/old.gguf: cannot sync"},
    {"tessera_quantize", kOldQuantized, {"close", EIO, ".tmp"}, "@/old.gguf: "},
    {"tessera_quantize", kOldQuantized, {"renameat", EACCES, "old.gguf"}, "@/old.gguf: cannot put the new file in place"},
    {"tessera_quantize statistics", kNewStatistics, {"pread", EIO, "/model.gguf", 4}, "@/model.gguf: cannot read"},
    {"tessera_quantize statistics", kNewStatistics, {"read", EIO, "/dev/stdin"}, "standard input"},
    {"tessera_quantize statistics", kNewStatistics, {"openat", EMFILE, ".tmp"}, "@/new.gguf: cannot create"},
    {"tessera_quantize statistics", kNewStatistics, {"write", ENOSPC, ".tmp", 2}, "@/new.gguf: cannot write"},
    {"tessera_quantize statistics", kOldStatistics, {"fsync", EIO, ".tmp"}, "@/old.gguf: cannot sync"},
    {"tessera_quantize statistics", kOldStatistics, {"renameat", EACCES, "old.gguf"}, "@/old.gguf: cannot put the new file in place"},
    {"tessera_quantize states", kNewStates, {"pread", EIO, "/model.gguf", 4}, "@/model.gguf: cannot read"},
    {"tessera_quantize states", kNewStates, {"read", EIO, "/dev/stdin"}, "standard input"},
    {"tessera_quantize states", kNewStates, {"openat", ENOSPC, ".tmp"}, "@/new.safetensors: cannot create"},
    {"tessera_quantize states", kNewStates, {"pwrite", ENOSPC, ".tmp", 5}, "@/new.safetensors: cannot write at byte"},
    {"tessera_quantize states", kOldStates, {"fsync", EIO, ".tmp"}, "@/old.gguf: cannot sync"},
    {"tessera_quantize states", kOldStates, {"renameat", EACCES, "old.gguf"}, "@/old.gguf: cannot put the new file in place"},
    {"tessera_random_model", kNewRandom, {"openat", EMFILE, ".tmp"}, "@/new.gguf: cannot create"},
    {"tessera_random_model", kNewRandom, {"write", ENOSPC, ".tmp", 2}, "@/new.gguf: cannot write"},
    {"tessera_random_model", kNewAround, {"pread", EIO, "/model.gguf", 4}, "@/model.gguf: cannot read"},
    {"tessera_random_model", kNewAround, {"write", ENOSPC, ".tmp", 2}, "@/new.gguf: cannot write"},
    {"tessera_random_model", kOldRandom, {"fchmod", EIO, ".tmp"}, "@/old.gguf: cannot keep the file's mode"},
    {"tessera_random_model", kOldRandom, {"fsync", EIO, ".tmp"}, "@/old.gguf: cannot sync"},
    {"tessera_random_model", kOldRandom, {"renameat", EACCES, "old.gguf"}, "@/old.gguf: cannot put the new file in place"},
};

constexpr Case kMeasurements[] = {
    {"tessera_verify", kVerified, {"pread", EIO, "/model.gguf", 3}, "@/model.gguf: cannot read"},
    {"tessera_verify", kVerified, {"read", EIO, "/prompts"}, "@/prompts: cannot read"},
    {"tessera_verify", kVerified, {"pipe2", EMFILE, ""}, "pipe"},
    {"tessera_verify", kVerified, {"fork", EAGAIN, ""}, "fork"},
    {"tessera_verify", kVerified, {"read", EIO, "]"}, "read from a pipe"},
    {"tessera_verify", kVerified, {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_bench speed", kSpeed, {"open", EMFILE, "/model.gguf"}, "@/model.gguf: cannot open"},
    {"tessera_bench speed", kSpeed, {"write", ENOSPC, "/dev/stdout"}, "standard output", Text::kNone, "trace"},
    {"tessera_bench speed", kSpeed, {"fsync", EIO, ".tmp"}, "@/trace: cannot sync", Text::kUnknown},
    {"tessera_bench rows", kRows, {"write", ENOSPC, ".tmp"}, "@/plot: cannot write", Text::kUnknown},
    {"tessera_bench rows", kRows, {"renameat", EACCES, "plot"}, "@/plot: cannot put the new file in place", Text::kUnknown},
    {"tessera_lever", kLever, {"read", EIO, ".jsonl"}, ".jsonl: cannot read"},
    {"tessera_lever", kLever, {"open", EMFILE, "/old.gguf"}, "@/old.gguf: cannot open"},
    {"tessera_lever", kLever, {"pread", EIO, "/model.gguf", 3}, "@/model.gguf: cannot read"},
    {"tessera_lever", kLever, {"fsync", EIO, ".tmp"}, "@/plot: cannot sync", Text::kUnknown},
    {"tessera_reproduce npu", "--plot=@/plot", {"write", ENOSPC, "/dev/stdout"}, "standard output", Text::kNone, "plot"},
    {"tessera_reproduce npu", "--plot=@/plot", {"fsync", EIO, ".tmp"}, "@/plot: cannot sync", Text::kAll},
    {"tessera_reproduce npu", "--plot=@/plot", {"renameat", EACCES, "plot"}, "@/plot: cannot put the new file in place", Text::kAll},
    {"tessera_reproduce record", kRecorded, {"read", EIO, ".jsonl"}, ".jsonl: cannot read"},
    {"tessera_reproduce record", kRecorded, {"pread", EIO, "/model.gguf", 3}, "@/model.gguf: cannot read"},
    {"tessera_reproduce record", kRecorded, {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_reproduce record_draft", kRecordedDraft, {"read", EIO, ".jsonl"}, ".jsonl: cannot read"},
    {"tessera_reproduce record_draft", kRecordedDraft, {"pread", EIO, "/old.gguf", 3}, "@/old.gguf: cannot read"},
    {"tessera_reproduce record_draft", kRecordedDraft, {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_scale run", kSampled, {"pread", EIO, "/model.gguf", 3}, "@/model.gguf: cannot read"},
    {"tessera_scale run", kSampled, {"open", EMFILE, "/samples"}, "@/samples: cannot open"},
    {"tessera_scale judge", kJudged, {"read", EIO, ".jsonl"}, "gsm8k_model_solutions.jsonl: cannot read"},
    {"tessera_scale judge", kJudged, {"write", ENOSPC, "/dev/stdout"}, "standard output"},
    {"tessera_scale check", kChecked, {"read", EIO, ".jsonl"}, "mbpp.jsonl: cannot read"},
    {"tessera_scale check", kChecked, {"pipe2", EMFILE, ""}, "pipe"},
    {"tessera_scale check", kChecked, {"fork", EAGAIN, "", 1}, "fork"},
    {"tessera_scale check", kChecked, {"memfd_create", ENOSYS, ""}, "memfd_create"},
    {"tessera_bench spec", kSpeculated, {"read", EIO, ".jsonl"}, ".jsonl: cannot read"},
    {"tessera_bench spec", kSpeculated, {"pread", EIO, "/model.gguf", 3}, "@/model.gguf: cannot read"},
    {"tessera_bench spec", kSpeculated, {"write", ENOSPC, ".tmp"}, "@/", Text::kUnknown},
    {"tessera_bench spec", kSpeculated, {"write", ENOSPC, "/dev/stdout"}, "standard output", Text::kNone, "costs"},
};

std::vector<Case> AllCases() {
  std::vector<Case> all;
  all.insert(all.end(), std::begin(kAnswers), std::end(kAnswers));
  all.insert(all.end(), std::begin(kWhatAnswersLeave), std::end(kWhatAnswersLeave));
  all.insert(all.end(), std::begin(kDrafts), std::end(kDrafts));
  all.insert(all.end(), std::begin(kReaders), std::end(kReaders));
  all.insert(all.end(), std::begin(kProducts), std::end(kProducts));
  all.insert(all.end(), std::begin(kMeasurements), std::end(kMeasurements));
  return all;
}

class FailingCalls : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's library must be loaded before all others";
  }
};

void ExpectText(Text text, const std::string& found, const std::string& whole) {
  if (text == Text::kNone) EXPECT_EQ(found, "");
  if (text == Text::kAll) EXPECT_EQ(found, whole);
  if (text != Text::kBeginning) return;
  EXPECT_TRUE(!found.empty() && found.size() < whole.size() && absl::StartsWith(whole, found)) << found << "\nof\n" << whole;
}

// Those of before as they were, and of the new ones those that the case names, whole.
void ExpectFiles(const Case& c, const ProgramRun& cut, const ProgramRun& whole) {
  Files found = cut.after;
  for (const absl::string_view begin : absl::StrSplit(c.written, ' ', absl::SkipEmpty())) {
    const auto file = found.lower_bound(std::string(begin));
    ASSERT_TRUE(file != found.end() && absl::StartsWith(file->first, begin)) << begin << " is not there";
    EXPECT_TRUE(whole.after.contains(file->first)) << file->first;
    EXPECT_NE(file->second, "") << file->first;
    found.erase(file);
  }
  for (const auto& [name, contents] : cut.before) EXPECT_TRUE(found[name] == contents) << name << " is not as it was";
  for (const auto& [name, contents] : found) EXPECT_TRUE(cut.before.contains(name)) << name << " is left";
}

TEST_P(FailingCalls, AreErrorsThatNameTheFileAndLeaveNothingHalfWritten) {
  const Case& c = GetParam();
  const ProgramRun whole = RunWithCall(c.program, c.flags, c.input), cut = RunWithCall(c.program, c.flags, c.input, c.call);
  ASSERT_EQ(whole.ended.code, 0) << whole.ended.errors;
  ASSERT_TRUE(cut.failed) << "the program makes no such call: " << cut.ended.errors;
  EXPECT_EQ(cut.ended.code, 1) << cut.ended.errors;
  const std::vector<std::string> lines = absl::StrSplit(cut.ended.errors, '\n', absl::SkipEmpty());
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(absl::StartsWith(lines.back(), absl::StrCat(c.program, ": "))) << lines.back();
  for (const absl::string_view said : absl::StrSplit(c.says, '|')) EXPECT_TRUE(absl::StrContains(lines.back(), said)) << lines.back();
  EXPECT_TRUE(absl::StrContains(lines.back(), std::strerror(c.call.error))) << lines.back();
  ExpectText(c.text, cut.ended.output, whole.ended.output);
  ExpectFiles(c, cut, whole);
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string name = absl::StrCat(info.param.program, "_", info.param.call.function, "_", info.index);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(OfPrograms, FailingCalls, testing::ValuesIn(AllCases()), NameOf);

TEST(FailingCallsTable, HasThreeCallsOfEachProgram) {
  std::map<std::string, std::set<std::string>> calls;
  for (const Case& c : AllCases()) calls[std::vector<std::string>(absl::StrSplit(c.program, ' '))[0]].insert(c.call.function);
  for (const std::string& program : Programs()) EXPECT_GE(calls[program].size(), 3u) << program;
}

}  // namespace
}  // namespace tessera
