// Adapters that requests name by their files in --adapter_folder.
#include "tessera/runtime/adapters/adapter_folder.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
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

class AdapterFolders : public testing::Test {
 protected:
  absl::StatusOr<Adapters> Read(const std::string& memory = "1MiB") {
    FLAGS_jsonl = true;
    FLAGS_adapter_folder = lora_.folder.path();
    FLAGS_adapter_memory = memory;
    EngineOptions options = {.model_path = TinyPath("llama")};
    return Adapters::OfFlags(options);
  }
  static absl::StatusOr<int> Named(const Adapters& adapters, const std::string& adapter) {
    return adapters.OfRequest(Must(JsonValue::Parse(absl::StrCat(R"({"adapter": ")", adapter, "\"}"), "line 1")));
  }
  static absl::StatusOr<AdapterLease> Lease(const Adapters& adapters, const std::string& adapter) {
    ASSIGN_OR_RETURN(const int number, Named(adapters, adapter));
    return adapters.Lease(number);
  }
  std::string Path(const std::string& name) const { return lora_.folder.Path(name); }

 private:
  const gflags::FlagSaver flags_before_;
  const Lora lora_;
};

TEST_F(AdapterFolders, HeaderExample) {
  const std::unique_ptr<AdapterFolder> folder = Must(AdapterFolder::Open(Path("")));
  AdapterCache cache({.most_bytes = 1 << 20});
  folder->ReadInto(&cache, Must(AdapterBase::Open({.model_path = TinyPath("llama")})));
  ASSERT_EQ(folder->WhyNot("folder"), "");
  const int number = Must(folder->NumberOf("folder"));
  EXPECT_EQ(Must(folder->NumberOf("folder")), number);
  EXPECT_FALSE(cache.IsInMemory(number)) << "it is read when it is leased";
  EXPECT_EQ(Must(cache.Lease(number))->bytes(), cache.LeastBytes(1));
}

TEST_F(AdapterFolders, NamesLeadToFilesAndListedNamesWin) {
  FLAGS_adapter = "folder:" + GoldenPath("lora/llama-all.gguf");
  const Adapters adapters = Must(Read());
  EXPECT_EQ(Must(Named(adapters, "folder")), 0);
  const AdapterLease file = Must(Lease(adapters, "file.gguf"));
  EXPECT_EQ(file->Sum(), Must(adapters.Lease(0))->Sum()) << "the same numbers";
  EXPECT_NE(file->id(), Must(adapters.Lease(0))->id()) << "and another adapter";
  EXPECT_EQ(Must(Lease(adapters, "file.gguf")), file);
  EXPECT_EQ(Must(Lease(adapters, "file.gguf@0.5,folder"))->Layer(0)[0].rank, 8);
}

// Nothing outside the folder is looked at, and messages cannot control a terminal.
TEST_F(AdapterFolders, HostileNamesAreRefused) {
  const Adapters adapters = Must(Read());
  std::filesystem::create_directory(Path("folder/inner"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::vector<std::string> names = {"../x", "..", ".", ".hidden", "folder/inner", "/etc", "folder/", "pipe", "\\u001b[2J",
                                          "a\\u0000b", "nowhere", std::string(300, 'x'), "../" + std::string(5000, 'y')};
  for (const std::string& name : names) {
    const absl::Status status = Named(adapters, name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_TRUE(absl::StrContains(status.message(), "expected the name of a file or folder in ")) << status;
    EXPECT_LT(status.message().size(), 500u);
    EXPECT_EQ(status.message().find('\x1b'), std::string::npos);
  }
  EXPECT_TRUE(absl::EndsWith(Named(adapters, "foldre").status().message(), ", such as \"folder\", or null for none"));
  EXPECT_FALSE(Named(adapters, "text").ok()) << "a file that is no adapter";
  Must(Lease(adapters, "folder"));
}

// Texts that have it go on with what they have.
TEST_F(AdapterFolders, AFileThatWasReplacedIsAnotherAdapter) {
  const Adapters adapters = Must(Read());
  const int number = Must(Named(adapters, "file.gguf"));
  const AdapterLease before = Must(adapters.Lease(number));
  std::filesystem::copy(GoldenPath("lora/llama-all.gguf"), Path("new"));
  std::filesystem::rename(Path("new"), Path("file.gguf"));
  const AdapterLease same_numbers = Must(Lease(adapters, "file.gguf"));
  EXPECT_NE(Must(Named(adapters, "file.gguf")), number);
  EXPECT_NE(same_numbers->id(), before->id()) << "nobody has compared them";
  EXPECT_EQ(same_numbers->Sum(), before->Sum());
  EXPECT_EQ(Must(adapters.Lease(number)), before);
  std::filesystem::remove(Path("file.gguf"));
  EXPECT_FALSE(Named(adapters, "file.gguf").ok());
  std::filesystem::copy(GoldenPath("lora/smollm2-qv"), Path("file.gguf"), std::filesystem::copy_options::recursive);
  EXPECT_TRUE(absl::StrContains(Named(adapters, "file.gguf").status().message(), "file.gguf")) << "of another model";
  const AdapterLease folder = Must(Lease(adapters, "folder"));
  std::ofstream(Path("folder/adapter_config.json"), std::ios::app) << " ";
  EXPECT_NE(Must(Lease(adapters, "folder"))->id(), folder->id());
}

TEST_F(AdapterFolders, MemoryBoundsThem) {
  const Adapters adapters = Must(Read("20KiB"));
  AdapterLease first = Must(Lease(adapters, "file.gguf"));
  const int64_t bytes = first->bytes();
  ASSERT_LT(bytes, 20 << 10);
  const absl::Status full = Lease(adapters, "folder").status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  first = nullptr;
  Must(Lease(adapters, "folder"));
  EXPECT_TRUE(absl::StrContains(adapters.ReadsLine(), "adapters: read 2 times")) << adapters.ReadsLine();
}

TEST_F(AdapterFolders, FlagsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(Read("").status().message(),
            "adapter_folder: found without --adapter_memory, expected both: requests name as many as they like");
  for (const char* const way : {"input", "mask"}) {
    FLAGS_lora_mode = way;
    EXPECT_TRUE(absl::StrContains(Read().status().message(), absl::StrCat("with --lora_mode=", way))) << way;
  }
  FLAGS_lora_mode = "graph";
  FLAGS_use_adapter = "file.gguf@0.5";
  EXPECT_EQ(Must(Read()).chosen_name(), "file.gguf@0.5");
  FLAGS_use_adapter = "none";
  FLAGS_adapter_folder = Path("text");
  EXPECT_EQ(AdapterFolder::Open(Path("text")).status().message(),
            absl::StrCat("adapter_folder: found \"", Path("text"), "\", expected a folder"));
}

// Each as if its adapter were listed, and one that is none is an error of its request.
TEST(AdapterFolderPrograms, RequestsNameWhatNobodyListed) {
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
