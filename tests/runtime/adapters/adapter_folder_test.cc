// Adapters that requests name by their files in a folder.
#include "tessera/runtime/adapters/adapter_folder.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
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
  absl::StatusOr<Adapters> Read(std::optional<int64_t> memory = 1 << 20) {
    asked_.requests = true;
    asked_.adapter_folder = lora_.folder.path();
    asked_.adapter_memory = memory;
    EngineOptions options = {.model_path = GoldenPath("tiny/llama.gguf")};
    return Adapters::Create(asked_, options);
  }
  static absl::StatusOr<int> Named(const Adapters& adapters, const std::string& adapter) {
    return adapters.OfRequest(Must(JsonValue::Parse(absl::StrCat(R"({"adapter": ")", adapter, "\"}"), "line 1")));
  }
  static absl::StatusOr<AdapterLease> Lease(const Adapters& adapters, const std::string& adapter) {
    ASSIGN_OR_RETURN(const int number, Named(adapters, adapter));
    return adapters.Lease(number);
  }
  std::string Path(const std::string& name) const { return lora_.folder.Path(name); }

  AdapterOptions asked_;

 private:
  const Lora lora_;
};

TEST_F(AdapterFolders, HeaderExample) {
  const std::unique_ptr<AdapterFolder> folder = Must(AdapterFolder::Open(Path("")));
  AdapterCache cache({.most_bytes = 1 << 20});
  folder->ReadInto(&cache, Must(AdapterBase::Open({.model_path = GoldenPath("tiny/llama.gguf")})));
  ASSERT_EQ(folder->WhyNot("folder"), "");
  const int number = Must(folder->NumberOf("folder"));
  EXPECT_EQ(Must(folder->NumberOf("folder")), number);
  EXPECT_FALSE(cache.IsInMemory(number)) << "it is read when it is leased";
  EXPECT_EQ(Must(cache.Lease(number))->bytes(), cache.LeastBytes(1));
}

TEST_F(AdapterFolders, NamesLeadToFilesAndListedNamesWin) {
  asked_.adapter = {{"folder", GoldenPath("lora/llama-all.gguf")}};
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
  const Adapters adapters = Must(Read(20 << 10));
  AdapterLease first = Must(Lease(adapters, "file.gguf"));
  const int64_t bytes = first->bytes();
  ASSERT_LT(bytes, 20 << 10);
  const absl::Status full = Lease(adapters, "folder").status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  first = nullptr;
  Must(Lease(adapters, "folder"));
  EXPECT_EQ(adapters.reads_again().value_or(AdapterCache::Stats()).reads, 2);
}

TEST_F(AdapterFolders, FieldsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(FieldOf(Read(std::nullopt).status()), "adapter_folder");
  for (const LoraMode mode : {LoraMode::kInput, LoraMode::kMask}) {
    asked_.lora_mode = mode;
    EXPECT_EQ(FieldOf(Read().status()), "adapter_folder");
  }
  asked_.lora_mode = LoraMode::kGraph;
  asked_.use_adapter = "file.gguf@0.5";
  EXPECT_EQ(Must(Read()).chosen_name(), "file.gguf@0.5");
  EXPECT_EQ(AdapterFolder::Open(Path("text")).status().message(),
            absl::StrCat("adapter_folder: found \"", Path("text"), "\", expected a folder"));
}

}  // namespace
}  // namespace tessera
