// Flag files, and texts that flags take: a file is refused in words that name it and the line, or each text is the one that its last line
// says. Lists of adapters and their parts, scorers, drafters, branches, rules and sizes are refused in words, or mean the same when they
// are said again.
//
// An input's first byte says which of them follows.
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gflags/gflags.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "tessera/apps/cli/command_line.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/adapters/adapter_options.h"
#include "tessera/runtime/adapters/adapter_parts.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/trees/branches.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/pin_plan.h"
#include "tessera/storage/verify_policy.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

enum Kind : char { kFile, kAdapters, kScorer, kDrafters, kBranches, kPrune, kWords, kParts, kKinds };
constexpr char kPromptFlag[] = "--prompt=";

// In words; whoever shows them makes them printable (apps/cli/text/output.h).
absl::Status RefusedFlag(const absl::Status& status, absl::string_view begin) {
  CHECK(absl::IsInvalidArgument(status)) << status;
  CHECK(absl::StartsWith(status.message(), begin)) << status;
  return status;
}

const AppInfo& TheProgram() {
  static const auto* const info = new AppInfo{
      .name = "tessera_fuzz", .summary = "Reads flags.",
      .groups = {{"All", {"model", "threads", "prompt", "system", "raw", "jsonl", "top_k", "temperature", "seed", "stop"}}}};
  return *info;
}

size_t Count(absl::string_view text, absl::string_view part) {
  return std::vector<absl::string_view>(absl::StrSplit(text, part)).size() - 1;
}

// The last line of a file that was read sets the flag. "-prompt" and "--prompt" after blanks are the flag, too, and left out here.
void CheckPrompt(const std::string& bytes) {
  const std::string lines = absl::StrCat("\n", bytes), line = absl::StrCat("\n", kPromptFlag);
  if (Count(lines, line) == 0 || Count(lines, "prompt") != Count(lines, line)) return;
  absl::string_view last = absl::string_view(lines).substr(lines.rfind(line) + line.size());
  last = absl::StripSuffix(last.substr(0, last.find('\n')), "\r");
  std::string set;
  CHECK(gflags::GetCommandLineOption("prompt", &set) && set == last) << set;
}

absl::Status UseFile(const std::string& bytes) {
  static const auto folder = std::make_unique<TemporaryFolder>(TemporaryFolder::InMemory());   // It goes when the program ends.
  const std::string path = folder->Path("flags");
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  const gflags::FlagSaver saver;
  const auto line = ParseCommandLine(TheProgram(), {"--flagfile=" + path});
  if (!line.ok()) return RefusedFlag(line.status(), "--flagfile: " + path);
  CHECK(line->flag_files == std::vector<std::string>{path});
  CheckPrompt(bytes);
  return absl::OkStatus();
}

absl::Status UseAdapters(const std::string& text) {
  const auto list = ParseAdapterList(text);
  if (!list.ok()) return RefusedFlag(list.status(), "adapter: ");
  const std::string again = absl::StrJoin(*list, ",", [](std::string* out, const AdapterSource& source) {
    CHECK(!source.name.empty() && source.name != "none" && !source.path.empty()) << source.name;
    absl::StrAppend(out, source.name, ":", source.path, ":", absl::StrFormat("%.9g", source.scale));
  });
  const auto same = ParseAdapterList(again);
  CHECK(same.ok() && *same == *list) << same.status() << " of " << again;
  return absl::OkStatus();
}

absl::Status UseScorer(const std::string& text) {
  const auto spec = ParseScorer(text);
  if (!spec.ok()) return RefusedFlag(spec.status(), "scorer: ");
  CHECK(spec->kind != ScorerKind::kReward || !spec->file.empty());
  CHECK(absl::EndsWith(text, spec->file));
  return absl::OkStatus();
}

absl::Status UseDrafters(const std::string& text) {
  static const auto* const registry = new DrafterRegistry(DrafterRegistry::BuiltIn());
  const auto names = registry->Parse(text);
  if (!names.ok()) {
    CHECK(!registry->Make(text, {.context = 16, .vocabulary = 10}).ok() && !registry->ReadsHistory(text));
    return RefusedFlag(names.status(), "");
  }
  CHECK(names->empty() ? text == "none" : *registry->Parse(absl::StrJoin(*names, ",")) == *names) << text;
  return absl::OkStatus();
}

absl::Status UseBranches(const std::string& text) {
  constexpr int64_t kMostRows = 64;
  const auto branches = ParseBranches(text, kMostRows);
  if (!branches.ok()) return RefusedFlag(branches.status(), "");
  CHECK(!branches->empty() && branches->size() <= kMostBranches && RowsOf(*branches) <= kMostRows);
  for (const int children : *branches) CHECK(children >= 1 && children <= kMostChildren) << children;
  CHECK(Must(ParseBranches(BranchesText(*branches), kMostRows)) == *branches);
  return absl::OkStatus();
}

absl::Status UsePrune(const std::string& text) {
  const auto options = ParsePruneOptions(text, {});
  if (!options.ok()) return RefusedFlag(options.status(), "");
  CHECK(CheckPruneOptions(*options).ok());
  const auto again = ParsePruneOptions(text, *options);
  CHECK(again.ok() && again->threshold == options->threshold && again->temperature == options->temperature &&
        again->least_rows_left == options->least_rows_left)
      << "what is said twice";
  return absl::OkStatus();
}

absl::Status UseWords(const std::string& text) {
  const absl::Status io = ParseIoKind(text).status(), pin = ParsePinPolicy(text).status(), verify = ParseVerifyPolicy(text).status();
  if (!io.ok()) RefusedFlag(io, "io: ").IgnoreError();
  if (!pin.ok()) RefusedFlag(pin, "pin: ").IgnoreError();
  if (!verify.ok()) RefusedFlag(verify, "verify: ").IgnoreError();
  return io.ok() || pin.ok() ? absl::OkStatus() : verify;
}

absl::Status UseParts(const std::string& text) {
  const AdapterNames names = {.listed = {"style", "facts", "a@2"}};
  const auto wrong = [](const std::string& found, const std::string& expected) {
    return absl::InvalidArgumentError(absl::StrCat("use_adapter: found ", found, ", expected ", expected));
  };
  const auto parts = ParseAdapterParts(text, names, "none", wrong);
  if (!parts.ok()) return RefusedFlag(parts.status(), "use_adapter: ");
  CHECK(!parts->empty() && parts->size() <= kMostAdapterParts) << text;
  for (const AdapterPart& part : *parts) CHECK(std::isfinite(part.scale)) << text;
  const auto again = ParseAdapterParts(AdapterPartsName(*parts), names, "none", wrong);
  CHECK(again.ok() && again->size() == parts->size()) << again.status() << " of " << text;
  for (size_t i = 0; i < parts->size(); ++i) CHECK((*again)[i].name == (*parts)[i].name) << text;
  return absl::OkStatus();
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const int kind = bytes.Below(kKinds);
  const std::string text = bytes.Rest();
  constexpr absl::Status (*kUse[])(const std::string&) = {UseFile, UseAdapters, UseScorer, UseDrafters, UseBranches, UsePrune, UseWords,
                                                      UseParts};
  return kUse[kind](text);
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](Kind kind, const std::string& text) {
    seeds.push_back({absl::StrCat("text_", seeds.size()), std::string(1, kind) + text});
  };
  for (const char* file : {"", "--top_k=5\n--prompt=two words  \n", "--prompt=a\r\n--raw\r\n", "# note\n\n  --noraw\n", "--prompt=\n",
                           "--system=\n",
                           "--threads=99999999999\n", "--temperature=x\n", "--flagfile=x\n", "--top-k=1\n", "-seed=18446744073709551615\n",
                           "--unknown=1\n", "--promp=1\n", "word\n", "--prompt\n", "--noraw=1\n", "--help=all\n", "--version\n", "-\n",
                           "--\n",
                           "--fromenv=prompt\n", "--tryfromenv=prompt,seed\n", "\xef\xbb\xbf--raw\n", "\xff\xfe",
                           "--prompt=\xff\n--prompt=b"}) {
    add(kFile, file);
  }
  for (const char* list : {"", "a:b", "pirate:lora/pirate,plain:plain.gguf:0.5", "a:b:c:1", "a:b:nan", "a:b:1e99", ":b", "a:", "none:b",
                           "a:b,a:c",
                           "a\n:b", "a:b:-2", "a,b", "a:b:0"}) {
    add(kAdapters, list);
  }
  for (const char* spec : {"mean_log_probability", "self_certainty", "reward:a.safetensors", "reward", "reward:", "judge", "judge:p.txt",
                           "x\n"}) {
    add(kScorer, spec);
  }
  for (const char* list : {"auto", "none", "lookup,suffix", "lookup,lookup", "lookup,", ",", "sufix", "recycling,calibrated,reuse"}) {
    add(kDrafters, list);
  }
  for (const char* text : {"3,2", "1", "64", "0", "-1", "1,1,1,1,1,1,1,1,1", "99999999999", "3,,2", "a"}) add(kBranches, text);
  for (const char* text : {"", "threshold=0.05,tau=2", "near_root=512,rows_left=0,leaves_left=1,rows_dropped=1,ancestors=0", "tau=0",
                           "tau=nan",
                           "threshold=-1", "threshold=1,threshold=2", "ancestors=2", "treshold=1", "tau"}) {
    add(kPrune, text);
  }
  for (const char* parts : {"style", "style,facts@0.5", "a@2", "a@2@3", "facts@-1e-3", "style,style", "facts@", "@1", "styl", ",", "",
                            "style@nan", "style@1e99", "none"}) {
    add(kParts, parts);
  }
  for (const char* word : {"auto", "io_uring", "first", "always", "spread", "x", ""}) add(kWords, word);
  return seeds;
}

}  // namespace tessera
