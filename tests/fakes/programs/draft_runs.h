// Shared parts of tests of --draft_model: runs of tessera_generate on a tiny model, all ways to write texts, and costs that make every
// draft worthwhile.
//
//   class DraftFlags : public DraftRuns {};
//   TEST_F(DraftFlags, TheTextIsTheSame) { ExpectTheSameTexts({{"--speculate=draft", Draft()}, {Draft()}}); }
//
// Thread-compatible.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/byte_size.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/flag_list.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {

// Returns a draft that is the model itself.
inline std::string Draft() { return "--draft_model=" + TinyPath("llama"); }

// Returns the flags of a short answer of the tiny model.
inline Flags ShortAnswer() { return {"--model=" + TinyPath("llama"), "--prompt=the", "--n_predict=2"}; }

// Returns the least budget, from the error for a budget of one byte.
inline int64_t LeastBudget(const Flags& flags) {
  const Ended refused = RunProgram("tessera_generate", flags + Flags{"--memory_budget=1"});
  EXPECT_EQ(refused.code, 2);
  const std::string before = "expected at least ";
  const size_t begin = refused.errors.find(before);
  CHECK_NE(begin, std::string::npos) << refused.errors;
  const size_t number = begin + before.size();
  return ParseByteSize(refused.errors.substr(number, refused.errors.find(',', number) - number)).value();
}

class DraftRuns : public testing::Test {
 protected:
  static Ended Generate(const Flags& flags, const std::string& input = "") {
    Ended ended = RunProgram("tessera_generate", Flags{"--model=" + TinyPath("llama"), "--threads=1"} + flags, input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended;
  }

  static void ExpectError(const std::string& program, const Flags& flags, int code, const std::string& said) {
    const Ended ended = RunProgram(program, flags, "the in the\n");
    EXPECT_EQ(ended.code, code) << said << ": " << ended.errors;
    EXPECT_EQ(ended.output, "") << said;
    EXPECT_TRUE(absl::StrContains(ended.errors, said)) << said << ": " << ended.errors;
  }
  static void ExpectError(const Flags& flags, int code, const std::string& said) {
    ExpectError("tessera_generate", ShortAnswer() + flags, code, said);
  }

  // Expects the same texts from all ways to write texts, with each of these drafts and with none.
  static void ExpectTheSameTexts(const std::vector<Flags>& drafts) {
    const std::string requests = "{\"id\": 1, \"text\": \"the in re\", \"n\": 30}\n{\"id\": 2, \"text\": \"a a a\", \"n\": 30}\n"
                                 "{\"id\": 3, \"text\": \"in\", \"n\": 9}\n";
    const std::pair<Flags, std::string> ways[] = {
        {{"--prompt=the in re the in", "--n_predict=40", "--temperature=0"}, ""},
        {{"--prompt=the in re the in", "--n_predict=40", "--temperature=0.9", "--seed=5"}, ""},
        {{"--prompt=the", "--n_predict=20", "--answers=3", "--seed=2"}, ""},
        {{"--jsonl", "--seed=3"}, requests},
        {{"--jsonl", "--seed=3", "--parallel=2"}, requests},
        {{"--chat", "--chat_template=chatml", "--n_predict=12", "--temperature=0"}, "the\nin\n/reset\nthe in\n"}};
    for (const auto& [flags, input] : ways) {
      const std::string plain = WithoutTimes(Generate(flags + Flags{"--speculate=none"}, input).output);
      for (const Flags& with : drafts) {
        EXPECT_EQ(WithoutTimes(Generate(flags + with, input).output), plain) << flags[0] << " " << with.back();
      }
    }
  }

  // Returns a profile of a machine where rows cost nothing, so that every draft is worthwhile.
  std::string FreeRows() const {
    CostProfile costs;
    for (const int rows : {1, 2, 16}) {
      costs.AddPass({.rows = rows}, 0.01);
      costs.AddHead(rows, 0.001);
    }
    Must(costs.Save(folder_.Path("costs.json")));
    return folder_.Path("costs.json");
  }

  const gflags::FlagSaver flags_before_;
  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
};

}  // namespace tessera
