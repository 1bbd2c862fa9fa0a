// Requests that name adapters by their files in --adapter_folder.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// "file.gguf" and "folder", two adapters of the tiny llama; a file that is none, and one that is hidden.
struct Lora {
  Lora() {
    std::filesystem::copy(GoldenPath("lora/llama-all.gguf"), folder.Path("file.gguf"));
    std::filesystem::copy(GoldenPath("lora/llama-qv"), folder.Path("folder"), std::filesystem::copy_options::recursive);
    std::filesystem::copy(GoldenPath("lora/llama-all.gguf"), folder.Path(".hidden"));
    std::ofstream(folder.Path("text")) << "no adapter";
  }
  TemporaryFolder folder;
};

// Each as if its adapter were listed, and one that is none is an error of its request.
TEST(AdapterFolderPrograms, RequestsNameAdaptersThatNoFlagListed) {
  const Lora lora;
  const std::vector<std::string> model = {"--model=" + TinyPath("llama"), "--threads=1", "--jsonl", "--context=128"};
  const auto run = [&](std::vector<std::string> flags, const std::vector<std::string>& adapters) {
    flags.insert(flags.end(), model.begin(), model.end());
    std::string requests;
    for (const std::string& adapter : adapters) {
      absl::StrAppend(&requests, R"({"id": 1, "text": "the in re the in it", "n": 24, "temperature": 0, "adapter": ")", adapter, "\"}\n");
    }
    const Ended ended = RunProgram("tessera_generate", flags, requests);
    std::vector<std::string> answers;
    for (const absl::string_view line : absl::StrSplit(ended.output, '\n', absl::SkipEmpty())) {
      const JsonValue answer = Json(std::string(line));
      answers.push_back(answer.Has("error") ? *answer.String("error") : absl::StrJoin(*answer.Ints("output_tokens"), " "));
    }
    return answers;
  };
  const std::vector<std::string> listed = {
      absl::StrCat("--adapter=f:", GoldenPath("lora/llama-all.gguf"), ",d:", GoldenPath("lora/llama-qv"))};
  const std::vector<std::string> expected = run(listed, {"f", "d", "f@0.5", "d,f", "f", ""});
  ASSERT_EQ(expected.size(), 6u);
  const std::string in_folder = "--adapter_folder=" + lora.folder.path();
  for (const char* const memory : {"--adapter_memory=1MiB", "--adapter_memory=90KiB"}) {
    for (const char* const parallel : {"--parallel=1", "--parallel=4"}) {
      std::vector<std::string> answers =
          run({in_folder, memory, parallel}, {"file.gguf", "folder", "file.gguf@0.5", "text", "../x", "folder,file.gguf", "file.gguf", ""});
      ASSERT_EQ(answers.size(), 8u);
      EXPECT_TRUE(absl::StrContains(answers[3], "line 4: ") && absl::StrContains(answers[3], "/text: ")) << answers[3];
      EXPECT_TRUE(absl::StrContains(answers[4], "line 5: adapter: found \"../x\", expected the name of a file or folder in "))
          << answers[4];
      answers.erase(answers.begin() + 3, answers.begin() + 5);
      EXPECT_EQ(answers, expected) << memory << " " << parallel;
    }
  }
  std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--prompt=a", in_folder, "--adapter_memory=1MiB"};
  const Ended alone = RunProgram("tessera_generate", flags);
  EXPECT_EQ(alone.code, 2);
  EXPECT_TRUE(absl::StrContains(alone.errors, "--adapter_folder: found without --jsonl, expected it, or --use_adapter=NAME"))
      << alone.errors;
}

}  // namespace
}  // namespace tessera
