#include "tessera/apps/cli/flags/model_names.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// A cache in which gemma3 alone is, as a small model.
class ModelNames : public testing::Test {
 protected:
  ModelNames() {
    const char* const before = getenv("TESSERA_CACHE");
    if (before != nullptr) before_ = before;
    setenv("TESSERA_CACHE", cache_.path().c_str(), 1);
    gemma_ = cache_.Path("gemma-3-270m-q4_k_m.gguf");
    std::filesystem::copy_file(TinyPath("llama"), gemma_);
  }
  ~ModelNames() override {
    if (before_.has_value()) setenv("TESSERA_CACHE", before_->c_str(), 1);
    else unsetenv("TESSERA_CACHE");
  }

  const TemporaryFolder cache_;
  const gflags::FlagSaver flags_before_;
  std::string gemma_;
  std::optional<std::string> before_;
};

TEST_F(ModelNames, HeaderExample) {
  FLAGS_model = TinyPath("llama");
  std::string found;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string path, PathOfModel("model", FLAGS_model));
    found = path;
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(found, TinyPath("llama"));
}

TEST_F(ModelNames, AFetchedModelIsFoundByItsName) {
  EXPECT_EQ(Must(PathOfModel("model", "gemma3")), gemma_);
}

TEST_F(ModelNames, AFileOfThatNameGoesFirst) {
  const TemporaryFolder here;
  Must(WriteTextFile(here.Path("gemma3"), "a file"));
  std::filesystem::create_directory(here.Path("smollm2"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());
  const auto file = PathOfModel("model", "gemma3"), folder = PathOfModel("model", "smollm2");
  std::filesystem::remove(here.Path("gemma3"));
  std::filesystem::create_directory(here.Path("gemma3"));
  const auto named = PathOfModel("model", "gemma3");
  std::filesystem::current_path(before);
  EXPECT_EQ(Must(file), "gemma3");
  EXPECT_EQ(Must(folder), "smollm2") << "a head may be a folder";
  EXPECT_EQ(Must(named), gemma_) << "a folder is no file";
}

TEST_F(ModelNames, APathIsTakenUnchanged) {
  for (const std::string path : {"gemma3.gguf", "./gemma3", "none.tsr", "a/b", "draft.safetensors"}) {
    EXPECT_EQ(Must(PathOfModel("model", path)), path);
  }
}

TEST_F(ModelNames, AnUnknownNameListsTheModelsThatAreThereAndSaysHowToGetOthers) {
  for (const std::string name : {"mistral", "qwen2.5-coder-0.5b"}) {
    const absl::Status status = PathOfModel("draft_model", name).status();
    EXPECT_EQ(status.message(),
              absl::StrCat("draft_model: found \"", name, "\", no file and no fetched model, expected a file, or the name of a model in ",
                           cache_.path(), " (gemma3); scripts/fetch_model.sh NAME fetches others: smollm2, qwen2.5-coder-0.5b, "
                           "qwen2.5-coder-1.5b"));
    EXPECT_EQ(FieldOf(status), "draft_model");
  }
  std::filesystem::remove(gemma_);
  EXPECT_TRUE(absl::StrContains(PathOfModel("model", "gemma3").status().message(), "(none is fetched)"));
}

TEST_F(ModelNames, WithoutANameTheDefaultModelIsTaken) {
  EXPECT_TRUE(absl::StrContains(PathOfModel("model", "").status().message(), "expected --model=FILE, or a run of scripts/fetch_model.sh"));
  const std::string path = cache_.Path("SmolLM2-135M-Instruct.Q4_1.gguf");
  std::filesystem::copy_file(TinyPath("llama"), path);
  EXPECT_EQ(Must(PathOfModel("model", "")), path);
}

// By a flag, as an argument, and as a draft.
TEST_F(ModelNames, EveryProgramTakesANameForAModel) {
  const std::string named = "--model=gemma3", out = cache_.Path("out");
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"tessera_generate", {named, "--prompt=abc", "--raw", "--n_predict=2", "--draft_model=gemma3", "--temperature=0"}},
      {"tessera_tokenize", {named, "--prompt=abc"}},
      {"tessera_logits", {named, "--prompt=abc"}},
      {"tessera_perplexity", {named, "--prompt=abc abc", "--window=4"}},
      {"tessera_inspect", {named}},
      {"tessera_pack", {"gemma3", out + ".tsr"}},
      {"tessera_quantize", {"--format=Q8_0", "gemma3", out + ".gguf"}},
      {"tessera_quantize statistics", {"--prompt=abc abc", "gemma3", out + ".imatrix"}},
      {"tessera_quantize states", {"--prompt=abc", "gemma3", out + ".safetensors"}},
      {"tessera_bench memory", {named, "--dry_run"}},
      {"tessera_verify", {named, "--prompts=" + cache_.Path("prompts"), "--raw", "--n_predict=2"}}};
  Must(WriteTextFile(cache_.Path("prompts"), "abc\n"));
  for (const auto& [program, flags] : runs) {
    const Ended ended = RunProgram(program, flags);
    EXPECT_EQ(ended.code, 0) << program << ": " << ended.errors;
  }
  const Ended unknown = RunProgram("tessera_inspect", {"--model=mistral"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(absl::StrContains(unknown.errors, "--model: found \"mistral\", no file and no fetched model")) << unknown.errors;
}

// gemma3 is the model itself.
TEST_F(ModelNames, AnOutputOverANamedModelIsRefused) {
  const Ended ended = RunProgram("tessera_generate", {"--model=gemma3", "--prompt=abc", "--trace=" + gemma_});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(absl::StrContains(ended.errors, "found the model itself (--model)")) << ended.errors;
}

}  // namespace
}  // namespace tessera
