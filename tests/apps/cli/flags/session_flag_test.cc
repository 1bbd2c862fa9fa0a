// --session of tessera_generate: texts and dialogues that go on from one process to the next.
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class SessionFlag : public testing::Test {
 protected:
  std::vector<std::string> Flags(const std::vector<std::string>& more, const std::string& model = "llama") const {
    std::vector<std::string> flags = {"--model=" + TinyPath(model), "--threads=1", "--temperature=0"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  Ended Run(const std::vector<std::string>& more, const std::string& input = "") const {
    return RunProgram("tessera_generate", Flags(more), input);
  }
  // What a run that ends well writes.
  std::string Text(const std::vector<std::string>& more, const std::string& input = "") const {
    const Ended ended = Run(more, input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended.output;
  }
  static std::string BytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("kept");
  const std::string session_ = "--session=" + path_;
};

// A run adds a line break to its text, and nothing else.
TEST_F(SessionFlag, TwoRunsWriteTheTextOfOneRun) {
  const std::string whole = Text({"--raw", "--prompt=the in re", "--n_predict=40"});
  std::string halves;
  for (const std::string prompt : {"the in re", "", "", ""}) {
    std::string part = Text({"--raw", "--prompt=" + prompt, "--n_predict=10", session_, prompt.empty() ? "--speculate=none" : "--stats"});
    ASSERT_FALSE(part.empty());
    part.pop_back();
    halves += part;
  }
  EXPECT_EQ(halves + "\n", whole);
  EXPECT_EQ(folder_.Files(), 1);
}

// Special tokens are read, and the model's first token stands at the beginning alone.
TEST_F(SessionFlag, APromptContinuesTheWrittenText) {
  const std::string json = Text({"--raw", "--prompt=the", "--n_predict=3", session_, "--json"});
  std::string behind = Text({"--raw", "--prompt= in", "--n_predict=5", session_});
  EXPECT_EQ(behind, Text({"--raw", "--prompt=the" + *Json(json).String("text") + " in", "--n_predict=5"}));
}

TEST_F(SessionFlag, ADialogueGoesOnInAnotherProcess) {
  const std::vector<std::string> chat = {"--chat", "--chat_template=chatml", "--n_predict=6"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), chat.begin(), chat.end());
    return more;
  };
  const std::string whole = Text(with({"--system=re"}), "the\nin\nit\n");
  const std::string first = Text(with({"--system=re", session_}), "the\n"), others = Text(with({session_}), "in\nit\n");
  EXPECT_EQ(first + others, whole) << "the system message is the session's";
  const std::string before = BytesOf(path_);
  const Ended other = Run(with({"--system=to", session_}), "a\n");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(absl::StrContains(other.errors, "--system: found \"to\", expected \"re\", with which the dialogue began")) << other.errors;
  EXPECT_EQ(BytesOf(path_), before);
}

TEST_F(SessionFlag, SingleAnswersAreADialogueToo) {
  const std::vector<std::string> once = {"--chat_template=chatml", "--n_predict=6", session_};
  std::string answers;
  for (const std::string prompt : {"the", "in", "it"}) {
    std::vector<std::string> flags = once;
    flags.push_back("--prompt=" + prompt);
    answers += Text(flags);
  }
  EXPECT_EQ(answers, Text({"--chat", "--chat_template=chatml", "--n_predict=6"}, "the\nin\nit\n"));
}

TEST_F(SessionFlag, AForgottenDialogueIsEmpty) {
  const std::vector<std::string> chat = {"--chat", "--chat_template=chatml", "--n_predict=6", session_};
  Text(chat, "the\n/reset\n");
  EXPECT_EQ(Text(chat, "in\n"), Text({"--chat", "--chat_template=chatml", "--n_predict=6"}, "in\n"));
}

// The first Ctrl-C keeps what there is, since the second ends the program at once.
TEST_F(SessionFlag, ADialogueThatCtrlCEndsIsKept) {
  const std::vector<std::string> chat = {"--chat", "--chat_template=chatml", "--n_predict=6", session_};
  std::string first;
  {
    Program program("tessera_generate", Flags(chat));
    program.Write("the\n");
    first = program.FirstOutput();
    ASSERT_TRUE(program.FallsAsleep());   // It waits for the next message.
    program.Signal(SIGINT);
    ASSERT_TRUE(program.WaitForErrors("Ctrl-C again"));
    program.Signal(SIGINT);
    const Ended ended = program.Finish("");
    EXPECT_EQ(ended.code, 128 + SIGINT) << ended.errors;
    first += ended.output;
  }
  EXPECT_EQ(first + Text(chat, "in\n"), Text({"--chat", "--chat_template=chatml", "--n_predict=6"}, "the\nin\n"));
}

TEST_F(SessionFlag, ADamagedFileIsRefusedAndStays) {
  const std::vector<std::string> flags = {"--raw", "--prompt=the", "--n_predict=4", session_};
  Text(flags);
  std::string bytes = BytesOf(path_);
  for (const size_t place : {size_t{3}, size_t{100}, bytes.size() - 20}) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    std::ofstream(path_, std::ios::binary) << changed;
    const Ended ended = Run(flags);
    EXPECT_EQ(ended.code, 1) << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, absl::StrCat("tessera_generate: ", path_, ": "))) << ended.errors;
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(BytesOf(path_), changed);
  }
}

TEST_F(SessionFlag, OthersSessionsAreRefused) {
  Text({"--raw", "--prompt=the", "--n_predict=4", session_});
  const std::string kept = BytesOf(path_);
  const Ended model = RunProgram("tessera_generate", Flags({"--raw", "--prompt=a", session_}, "qwen2"));
  EXPECT_EQ(model.code, 1);
  EXPECT_TRUE(absl::StrContains(model.errors, path_ + ": ")) << model.errors;
  const Ended format = Run({"--raw", "--prompt=a", session_, "--kv_format=q8"});
  EXPECT_TRUE(absl::StrContains(format.errors, "format of keys and values: found FP16, expected 8-bit")) << format.errors;
  const Ended context = Run({"--raw", "--prompt=a", session_, "--context=4"});
  EXPECT_EQ(context.code, 1);
  EXPECT_TRUE(absl::StrContains(context.errors, "expected at most 4")) << context.errors;
  const Ended text = Run({"--prompt=a", session_, "--chat_template=chatml"});
  EXPECT_EQ(text.code, 2);
  EXPECT_TRUE(absl::StrContains(text.errors, "--session: found a text in ")) << text.errors;
  EXPECT_EQ(BytesOf(path_), kept);
  Text({"--prompt=a", "--n_predict=4", "--session=" + folder_.Path("dialogue"), "--chat_template=chatml"});
  const Ended dialogue = Run({"--raw", "--prompt=a", "--session=" + folder_.Path("dialogue")});
  EXPECT_EQ(dialogue.code, 2);
  EXPECT_TRUE(absl::StrContains(dialogue.errors, "--session: found a dialogue in ")) << dialogue.errors;
}

TEST_F(SessionFlag, ImpossibleUsesAreWrongUsage) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--jsonl", session_}, "--jsonl"},
      {{"--prompt=a", "--session=" + folder_.Path("none/kept")}, "--session: "},
      {{"--prompt=a", "--session=" + folder_.path()}, "--session: "},
      {{"--prompt=a", "--session=-"}, "--session: found -"},
      {{"--prompt=a", "--session=" + TinyPath("llama")}, "found the model itself"},
      {{"--prompt=a", session_, "--trace=" + path_}, "found the file of --"},
      {{"--prompt=a", "--session="}, "--session"},
  };
  for (const auto& [flags, said] : cases) {
    const Ended ended = Run(flags);
    EXPECT_EQ(ended.code, 2) << said << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, said)) << ended.errors;
    EXPECT_EQ(ended.output, "");
  }
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(SessionFlag, ADryRunKeepsNothing) {
  const Ended ended = Run({"--prompt=a", session_, "--dry_run"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, "A dry run writes nothing, not the file of --session either.\n")) << ended.errors;
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(SessionFlag, AnotherRunsFileWrittenMeanwhileStays) {
  for (const bool goes_on : {false, true}) {   // From no file, and from one.
    const std::vector<std::string> chat = {"--chat", "--chat_template=chatml", "--n_predict=6", session_};
    Program slow("tessera_generate", Flags(chat));
    slow.Write("the\n");
    EXPECT_NE(slow.FirstOutput(), "");
    Text(chat, goes_on ? "in\n" : "it\n");
    const std::string others = BytesOf(path_);
    const Ended ended = slow.Finish("");
    EXPECT_EQ(ended.code, 1);
    EXPECT_TRUE(absl::StrContains(ended.errors, path_ + ": found a file written by another run meanwhile, expected ")) << ended.errors;
    EXPECT_EQ(BytesOf(path_), others);
  }
  EXPECT_EQ(folder_.Files(), 1);
}

// Prompts that do not fit end the run, and leave the text as it was.
TEST_F(SessionFlag, ARunThatFailsKeepsTheOldFile) {
  Text({"--raw", "--prompt=the", "--n_predict=4", session_});
  const std::string kept = BytesOf(path_);
  const Ended full = Run({"--raw", "--prompt=" + std::string(40, 'x'), session_, "--context=32"});
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(absl::StrContains(full.errors, "expected at most 32")) << full.errors;
  EXPECT_EQ(BytesOf(path_), kept);
}

}  // namespace
}  // namespace tessera
