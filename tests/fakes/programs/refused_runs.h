// Checks runs of a program that must be refused: each run gives the reason, and writes nothing.
//
//   ExpectRefused(Record, {{"--texts=0", 2, "--texts: found 0"}});       // Record(flags) runs the program with these behind its own
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/tests/fakes/programs/flag_list.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {

struct RefusedRun {
  std::string flag;
  int code;
  std::string said;
};

inline void ExpectRefused(const std::function<Ended(const Flags&)>& run, const std::vector<RefusedRun>& cases) {
  for (const RefusedRun& each : cases) {
    const Ended ended = run({each.flag});
    EXPECT_EQ(ended.code, each.code) << each.flag << ": " << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, each.said)) << each.flag << ": " << ended.errors;
    EXPECT_EQ(ended.output, "") << each.flag;
  }
}

}  // namespace tessera
