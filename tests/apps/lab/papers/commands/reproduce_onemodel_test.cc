// tessera_reproduce onemodel: what it prints, that it prints the same again, and what it says of a file of runs.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Reproduce(const std::vector<std::string>& flags) { return RunProgram("tessera_reproduce onemodel", flags); }

TEST(ReproduceOnemodel, PrintsTheSameEachTime) {
  const Ended ended = Reproduce({"--table=all"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  for (const char* const said :
       {"Table 10: transformations of graphs", "One for all: 8 tasks", "a slip of the paper", "missing: no --recordings"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, said)) << said;
  }
  EXPECT_EQ(Reproduce({"--table=all"}).output, ended.output);
  EXPECT_TRUE(absl::StartsWith(Reproduce({}).output, "Errors, of figures that count\n"));
}

TEST(ReproduceOnemodel, TakesRunsFromAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("ds2d.jsonl");
  Must(WriteFileAtomically(path, R"({"model": "s.gguf", "tree": "ds2d:1,2,2", "categories": [{"category": "rag", "texts": 1, )"
                                 R"("drafted": {"tokens": 30, "passes": 20}}]})"));
  const Ended ended = Reproduce({"--recordings=" + path, "--table=table7_runs"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "Table 7 by real runs of s.gguf")) << ended.output;
  const Ended json = Reproduce({"--recordings=" + path, "--json"});
  const JsonValue runs = Must(Json(json.output).Array("runs"));
  ASSERT_EQ(runs.size(), 1);
  EXPECT_EQ(Must(runs[0].String("configuration")), "1,2,2");
}

TEST(ReproduceOnemodel, RefusesFilesWithoutRuns) {
  const TemporaryFolder folder;
  const Ended missing = Reproduce({"--recordings=/nowhere/runs.jsonl"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.output, "");
  EXPECT_TRUE(absl::StrContains(missing.errors, "--recordings: /nowhere/runs.jsonl")) << missing.errors;
  Must(WriteFileAtomically(folder.Path("other.jsonl"), R"({"model": "s.gguf", "tree": "lever"})"));
  const Ended other = Reproduce({"--recordings=" + folder.Path("other.jsonl")});
  EXPECT_NE(other.code, 0);
  EXPECT_TRUE(absl::StrContains(other.errors, "line 1: tree: found \"lever\"")) << other.errors;
}

}  // namespace
}  // namespace tessera
