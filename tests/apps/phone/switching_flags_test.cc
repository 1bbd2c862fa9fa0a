// --switching and --blocks of tessera_generate: same texts, a line of figures, and wrong usage where nothing could be switched.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/apps/phone/switching_flags.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// A copy of a model in a folder of its own, beside which a profile may be kept.
class SwitchingFlags : public ::testing::Test {
 protected:
  SwitchingFlags() { std::filesystem::copy_file(TinyPath("llama"), model()); }
  std::string model() const { return folder_.Path("model.gguf"); }
  std::string profile() const { return folder_.Path("model.gguf.8gen2.switch.json"); }
  Ended Generate(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--model=" + model(), "--raw", "--prompt=abcdefghijklmnopqrstuvwxyz", "--temperature=0", "--n_predict=6",
                               "--speculate=none", "--stats", "--context=128"});
    return RunProgram("tessera_generate", flags);
  }

 private:
  const TemporaryFolder folder_;
};

std::string SwitchingLine(const Ended& ended) {
  const size_t begin = ended.errors.find("switching: ");
  return begin == std::string::npos ? "" : ended.errors.substr(begin, ended.errors.find('\n', begin) - begin);
}

TEST_F(SwitchingFlags, HeaderExample) {
  EXPECT_TRUE(CheckNoSwitchingFlags("without --device").ok()) << "no flag is given";
  EngineOptions options = {.model_path = model(), .compute = {.row_capacity = 256}, .cache = {.context = 128}};
  const Phone phone = Must(PhoneOf("8gen2:unshared"));
  EXPECT_TRUE(Must(SwitchingOfFlags(phone, nullptr, options)));
  EXPECT_EQ(options.compute.warm_up->path, profile());
  EXPECT_EQ(options.compute.graph_rows, (std::vector<int>{1, 32, 64, 128}));
  EXPECT_FALSE(Must(SwitchingOfFlags(Must(PhoneOf("8gen2:static")), nullptr, options)));
}

TEST_F(SwitchingFlags, TextsAreTheSameByEachRule) {
  const Ended none = Generate({"--device=8gen2:unshared", "--switching=none"});
  ASSERT_EQ(none.code, 0) << none.errors;
  EXPECT_EQ(SwitchingLine(none), "");
  EXPECT_FALSE(std::filesystem::exists(profile()));
  const std::vector<std::string> rules = {"auto", "padded", "synchronous", "naive", "published", "planned"};
  for (const std::string& rule : rules) {
    const Ended ended = Generate({"--device=8gen2:unshared", "--switching=" + rule});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(ended.output, none.output) << rule;
    const std::string begin = absl::StrCat("switching: ", rule == "auto" ? std::string("planned") : rule, ", ");
    EXPECT_TRUE(absl::StartsWith(SwitchingLine(ended), begin)) << ended.errors;
    EXPECT_TRUE(std::filesystem::exists(profile()));
  }
}

// A measured profile, and one that is read: the phone's figures are the same to the digit.
TEST_F(SwitchingFlags, FiguresAreTheSameOfAKeptProfile) {
  const std::vector<std::string> flags = {"--device=8gen2:unshared", "--blocks=2"};
  const Ended measured = Generate(flags), read = Generate(flags);
  ASSERT_EQ(measured.code, 0) << measured.errors;
  EXPECT_EQ(SwitchingLine(measured), SwitchingLine(read));
  EXPECT_TRUE(absl::StrContains(SwitchingLine(read), " 2 blocks, ")) << read.errors;
  const auto phone_of = [](const Ended& ended) { return ended.errors.substr(ended.errors.find("phone: ")); };
  EXPECT_EQ(phone_of(measured), phone_of(read));
}

TEST_F(SwitchingFlags, FlagsThatCannotBeSwitchedAreWrongUsage) {
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& says) {
    const Ended ended = Generate(flags);
    EXPECT_EQ(ended.code, 2) << says;
    EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors;
  };
  refused({"--switching=planned"}, "--switching: found planned without --device, expected --device=PHONE:unshared");
  refused({"--path=npu", "--switching=naive"}, "--switching: found naive with --path=npu");
  refused({"--device=8gen2:static", "--switching=published"}, "--switching: found published with --device=8gen2:static");
  refused({"--device=8gen2", "--blocks=3"}, "--blocks: found 3 with --device=8gen2");
  refused({"--device=8gen2:unshared", "--switching=none", "--blocks=3"}, "--blocks: found 3 with --switching=none");
  refused({"--device=8gen2:unshared", "--switching=fast"}, "--switching: found fast, expected auto, none, padded");
  refused({"--device=8gen2:unshared", "--blocks=65"}, "--blocks: found 65, expected 0 to 64");
  refused({"--device=8gen2:unshared", "--blocks=60"}, "--blocks: found 60, expected 0 (chosen) to ");
}

}  // namespace
}  // namespace tessera
