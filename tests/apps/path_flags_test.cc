#include "tessera/apps/cli/path_flags.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tessera/base/json.h"
#include "tessera/tests/apps/run_program.h"

namespace tessera {
namespace {

TEST(PathFlags, AreAllThatNameAFile) {
  const auto is_listed = [](const std::string& name) {
    return std::any_of(PathFlags().begin(), PathFlags().end(), [&](const PathFlag& flag) { return flag.name == name; });
  };
  for (const std::string& command : Commands()) {
    const JsonValue groups = *Json(RunProgram(command, {"--help", "--json"}).output).Array("groups");
    for (int64_t g = 0; g < groups.size(); ++g) {
      const JsonValue flags = *groups[g].Array("flags");
      for (int64_t f = 0; f < flags.size(); ++f) {
        const std::string placeholder = *flags[f].String("placeholder"), name = *flags[f].String("name");
        if (placeholder == "FILE" || placeholder == "FOLDER") {
          EXPECT_TRUE(is_listed(name)) << command << " --" << name;
        }
      }
    }
  }
}

AppInfo Takes(const std::string& flag) { return {.name = "x", .summary = "", .examples = {}, .groups = {{"Output", {flag}}}}; }

TEST(PathFlags, SayWhatAReadersEndMeans) {
  EXPECT_EQ(WhenReaderGoes(Takes("out")), ReaderGone::kEndsAtOnce) << "it is not given";
  FLAGS_out = "file";
  EXPECT_EQ(WhenReaderGoes(Takes("out")), ReaderGone::kEndsInOrder);
  EXPECT_EQ(WhenReaderGoes(Takes("trace")), ReaderGone::kEndsAtOnce) << "the program has no such flag";
  FLAGS_out.clear();
}

}  // namespace
}  // namespace tessera
