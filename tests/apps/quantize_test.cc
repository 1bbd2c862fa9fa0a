// tessera_quantize, and the other programs on what it writes.
#include <filesystem>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class QuantizeProgram : public ::testing::Test {
 protected:
  std::string Contents(const std::string& path) const { return *ReadFileToString(path, int64_t{1} << 24); }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.Path("model.gguf");
};

TEST_F(QuantizeProgram, WritesASoundSmallerModelThatWritesText) {
  for (const char* name : {"llama", "gemma3"}) {
    const Ended ended = RunProgram("tessera_quantize", {"--json", "--head_format=Q4_1", "--format=Q4_0", TinyPath(name), out_});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const JsonValue json = *JsonValue::Parse(ended.output);
    EXPECT_EQ(*json.String("path"), out_);
    EXPECT_EQ(*json.Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(out_)));
    EXPECT_EQ(*json.Int("model_bytes"), static_cast<int64_t>(std::filesystem::file_size(TinyPath(name))));
    EXPECT_GT(*json.Int("changed_tensors"), 1);
    EXPECT_EQ(RunProgram("tessera_inspect", {"--verify", "--model=" + out_}).code, 0);
    const Ended answer = RunProgram("tessera_generate", {"--raw", "--prompt=the", "--n_predict=4", "--json", "--model=" + out_});
    ASSERT_EQ(answer.code, 0) << answer.errors;
    EXPECT_FALSE(JsonValue::Parse(answer.output)->Ints("tokens")->empty());
  }
}

TEST_F(QuantizeProgram, ADryRunForetellsTheSizeAndWritesNothing) {
  const Ended dry = RunProgram("tessera_quantize", {"--dry_run", "--json", "--format=F16", TinyPath("llama")});
  ASSERT_EQ(dry.code, 0) << dry.errors;
  EXPECT_EQ(folder_.Files(), 0);
  ASSERT_EQ(RunProgram("tessera_quantize", {"--format=F16", TinyPath("llama"), out_}).code, 0);
  EXPECT_EQ(*JsonValue::Parse(dry.output)->Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(out_)));
}

TEST_F(QuantizeProgram, TheModelItselfIsNotWrittenOver) {
  const std::string model = folder_.Path("original.gguf"), link = folder_.Path("link.gguf");
  std::filesystem::copy(TinyPath("llama"), model);
  std::filesystem::create_hard_link(model, link);
  for (const std::string& out : {model, link}) {
    const Ended ended = RunProgram("tessera_quantize", {"--head_format=Q4_1", model, out});
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(absl::StrContains(ended.errors, "--out: " + out + ": found the model itself")) << ended.errors;
  }
  EXPECT_EQ(Contents(model), Contents(TinyPath("llama")));
}

// Writes a model as two parts: all its metadata, and all its tensors.
void SplitBehindMetadata(const std::string& path, const std::string& first, const std::string& second) {
  const auto file = *GgufFile::Open(path);
  GgufWriter parts[2];
  for (const auto& [key, value] : file->metadata()) parts[0].Copy(key, value);
  for (uint16_t part = 0; part < 2; ++part) {
    parts[part].Number("split.no", part).Number<uint16_t>("split.count", 2);
    parts[part].Number("split.tensors.count", static_cast<int32_t>(file->tensors().size()));
  }
  for (const GgufTensor& tensor : file->tensors()) parts[1].Tensor(tensor.name, tensor.format->format, tensor.shape);
  const auto copy = [&](int tensor, GgufWriter::Append append) {
    std::vector<std::byte> bytes(file->tensors()[tensor].size);
    EXPECT_EQ(file->Read(file->tensors()[tensor], 0, absl::MakeSpan(bytes)), absl::OkStatus());
    return append(bytes);
  };
  ASSERT_EQ(parts[0].Write(first, copy), absl::OkStatus());
  ASSERT_EQ(parts[1].Write(second, copy), absl::OkStatus());
}

// As a tool that splits models may write them: all metadata and no tensor in the first one.
TEST_F(QuantizeProgram, NorIsAPartOfItWithoutTensors) {
  const std::string first = folder_.Path("m-00001-of-00002.gguf"), second = folder_.Path("m-00002-of-00002.gguf");
  SplitBehindMetadata(TinyPath("llama"), first, second);
  const std::string before = Contents(first);
  const Ended ended = RunProgram("tessera_quantize", {"--head_format=Q4_1", second, first});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(absl::StrContains(ended.errors, "found the model itself")) << ended.errors;
  EXPECT_EQ(Contents(first), before);
  EXPECT_EQ(RunProgram("tessera_quantize", {"--head_format=Q4_1", second, out_}).code, 0);
}

TEST_F(QuantizeProgram, WrongFlagsAreNamed) {
  const std::string model = TinyPath("llama");
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"--out: found none", {"--head_format=Q4_1", model}},
      {"--format: found neither this flag nor --head_format", {model, out_}},
      {"--format: block format \"Q9\"", {"--format=Q9", model, out_}},
      {"--head_format: block format \"q4\"", {"--head_format=q4", model, out_}},
      {"--out: ", {"--head_format=Q4_1", model, "/nowhere/model"}},
  };
  for (const auto& [message, arguments] : cases) {
    const Ended ended = RunProgram("tessera_quantize", arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_TRUE(absl::StrContains(ended.errors, message)) << ended.errors;
  }
  EXPECT_EQ(RunProgram("tessera_pack", {model, folder_.Path("packed.tsr")}).code, 0);
  const Ended packed = RunProgram("tessera_quantize", {"--head_format=Q4_1", folder_.Path("packed.tsr"), out_});
  EXPECT_EQ(packed.code, 2);
  EXPECT_TRUE(absl::StrContains(packed.errors, "found a packed model, expected a GGUF file")) << packed.errors;
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace tessera
