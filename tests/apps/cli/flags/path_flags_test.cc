#include "tessera/apps/cli/flags/path_flags.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/cli/help.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

bool IsListed(const std::string& name) {
  return std::any_of(PathFlags().begin(), PathFlags().end(), [&](const PathFlag& flag) { return flag.name == name; });
}

TEST(PathFlags, AreAllThatNameAFile) {
  for (const std::string& command : Commands()) {
    const JsonValue groups = *Json(RunProgram(command, {"--help", "--json"}).output).Array("groups");
    for (int64_t g = 0; g < groups.size(); ++g) {
      const JsonValue flags = *groups[g].Array("flags");
      for (int64_t f = 0; f < flags.size(); ++f) {
        const std::string placeholder = *flags[f].String("placeholder"), name = *flags[f].String("name");
        if (placeholder == "FILE" || placeholder == "FOLDER") {
          EXPECT_TRUE(IsListed(name)) << command << " --" << name;
        }
      }
    }
  }
}

// Each flag's text is the path of a file, or the name of one, or stands here as no file's.
TEST(PathFlags, AreAllThatLeadToAFile) {
  const std::set<std::string> no_files = {"path", "kernels", "kv_format", "pin", "io", "chat_template", "shape", "format", "head_format",
                                          "arithmetic", "task", "select", "split", "steps", "switching", "logits", "numbers", "tree",
                                          "accept", "use_adapter", "lora_mode"};
  const std::set<std::string> no_paths = {"SIZE", "WHEN", "LIST", "N", "TEXT", "JSON", "SETTINGS", "SHAPE"};
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::set<std::string> found;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (flag.type != "string" || !absl::EndsWith(flag.filename, "apps/cli/flags/flags.cc")) continue;
    found.insert(flag.name);
    const std::string placeholder = DescribeFlag(flag.name).placeholder;
    if (no_paths.count(placeholder) != 0) continue;
    EXPECT_NE(IsListed(flag.name), placeholder == "NAME" && no_files.count(flag.name) != 0) << flag.name << " " << placeholder;
  }
  for (const PathFlag& flag : PathFlags()) EXPECT_TRUE(found.count(flag.name) != 0 || flag.name == "flagfile") << flag.name;
}

TEST(PathFlags, NoOutputGoesAmongTheFilesOfAHistory) {
  const TemporaryFolder cache;
  const CacheFolderFor histories(cache.path());
  const std::vector<std::string> answer = {"--model=" + TinyPath("llama"), "--prompt=a", "--n_predict=4", "--temperature=0",
                                           "--history=mail"};
  const auto run = [&](const std::string& flag) {
    std::vector<std::string> flags = answer;
    flags.push_back(flag);
    return RunProgram("tessera_generate", flags);
  };
  ASSERT_EQ(RunProgram("tessera_generate", answer).code, 0);
  const std::string kept = std::filesystem::directory_iterator(cache.Path("history"))->path().string();
  std::filesystem::create_symlink(kept, cache.Path("link"));
  for (const std::string& path : {kept, cache.Path("link"), cache.Path("history") + "/new"}) {
    for (const std::string flag : {"--trace=", "--cost_profile="}) {
      const Ended ended = run(flag + path);
      EXPECT_EQ(ended.code, 2) << flag << path;
      EXPECT_TRUE(absl::StrContains(ended.errors, path + ": found a file in the folder of --history")) << ended.errors;
    }
  }
  EXPECT_EQ(run("--trace=" + cache.Path("trace")).code, 0);
}

AppInfo Takes(const std::string& flag) { return {.name = "x", .summary = "", .examples = {}, .groups = {{"Output", {flag}}}}; }

TEST(PathFlags, DecideWhetherAGoneReaderEndsTheProgram) {
  EXPECT_EQ(WhenReaderGoes(Takes("out")), ReaderGone::kEndsAtOnce) << "it is not given";
  FLAGS_out = "file";
  EXPECT_EQ(WhenReaderGoes(Takes("out")), ReaderGone::kEndsInOrder);
  EXPECT_EQ(WhenReaderGoes(Takes("trace")), ReaderGone::kEndsAtOnce) << "the program has no such flag";
  FLAGS_out.clear();
  FLAGS_into = "file";
  EXPECT_EQ(WhenReaderGoes(Takes("into")), ReaderGone::kEndsInOrder) << "the figures of a run go there";
  FLAGS_jsonl = true;
  EXPECT_EQ(WhenReaderGoes(Takes("into")), ReaderGone::kEndsNothing) << "answers go to the file";
  FLAGS_into.clear();
  FLAGS_jsonl = false;
}

}  // namespace
}  // namespace tessera
