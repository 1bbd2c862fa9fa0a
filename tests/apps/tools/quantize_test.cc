// tessera_quantize, and the other programs on what it writes.
#include <filesystem>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// Sizes of each tensor that fit together, and errors such as some bits a weight bring.
void ExpectTensors(const JsonValue& json, bool measured) {
  const JsonValue tensors = *json.Array("tensors");
  ASSERT_GT(tensors.size(), 7);
  for (int64_t i = 0; i < tensors.size(); ++i) {
    const JsonValue tensor = tensors[i];
    const std::string name = *tensor.String("tensor");
    EXPECT_FALSE(tensor.String("form")->empty()) << name;
    EXPECT_NEAR(*tensor.Double("bits_per_weight"), 8.0 * static_cast<double>(*tensor.Int("bytes")) /
                                                       static_cast<double>(*tensor.Int("weights")), 1e-2) << name;
    EXPECT_GE(*tensor.Int("padding_bytes"), 0) << name;
    const absl::StatusOr<double> error = tensor.Double("relative_error");
    EXPECT_EQ(error.ok(), measured) << name;
    EXPECT_TRUE(!error.ok() || (*error >= 0 && *error < 0.5)) << name;
  }
}

class QuantizeProgram : public ::testing::Test {
 protected:
  std::string Contents(const std::string& path) const { return *ReadFileToString(path, int64_t{1} << 24); }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.Path("model.gguf");
};

TEST_F(QuantizeProgram, WritesASoundSmallerModelThatWritesText) {
  for (const char* name : kArchitectures) {
    const Ended ended = RunProgram("tessera_quantize", {"--json", "--head_format=Q4_1", "--format=Q4_0", TinyPath(name), out_});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const JsonValue json = *JsonValue::Parse(ended.output);
    EXPECT_EQ(*json.String("path"), out_);
    EXPECT_EQ(*json.Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(out_)));
    EXPECT_EQ(*json.Int("model_bytes"), static_cast<int64_t>(std::filesystem::file_size(TinyPath(name))));
    EXPECT_GT(*json.Int("changed_tensors"), 1);
    ExpectTensors(json, /*measured=*/true);
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

TEST_F(QuantizeProgram, AGgufSchemeWritesGgufUnlessTheNameSaysPacked) {
  const std::string packed = folder_.Path("model.tsr");
  for (const std::string scheme : {"Q4_0,head=Q4_1", "keep"}) {
    ASSERT_EQ(RunProgram("tessera_quantize", {"--scheme=" + scheme, TinyPath("llama"), out_}).code, 0);
    EXPECT_EQ(Contents(out_).substr(0, 4), "GGUF");
    const Ended ended = RunProgram("tessera_quantize", {"--scheme=" + scheme, "--json", TinyPath("llama"), packed});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(*Json(ended.output).Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(packed)));
    ExpectTensors(Json(ended.output), /*measured=*/true);
    std::string texts[2];
    for (int i = 0; i < 2; ++i) {
      const Ended answer = RunProgram("tessera_generate", {"--raw", "--prompt=the", "--n_predict=8", "--temperature=0",
                                                           "--model=" + (i == 0 ? out_ : packed)});
      EXPECT_EQ(answer.code, 0) << answer.errors;
      texts[i] = answer.output;
    }
    EXPECT_EQ(texts[1], texts[0]) << scheme;
  }
}

TEST_F(QuantizeProgram, TheTableSaysSizesAndErrors) {
  const Ended ended = RunProgram("tessera_quantize", {"--format=Q4_0", TinyPath("llama"), out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  for (const std::string text : {"scheme", "tensors in another form", "matrices", "bits per weight", "ffn_down", "4.500", " %", "all"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, text)) << text << " in " << ended.output;
  }
  const Ended dry = RunProgram("tessera_quantize", {"--scheme=001", "--dry_run", "--json", TinyPath("llama")});
  ASSERT_EQ(dry.code, 0) << dry.errors;
  EXPECT_EQ(*Json(dry.output).String("scheme"), "int4-tile,ffn_down=int8-tile");
  ExpectTensors(Json(dry.output), /*measured=*/false);
}

// The tiny model's rows have 64 and 128 weights.
TEST_F(QuantizeProgram, AKFormatThatDoesNotFitIsReplacedAndSaidOnce) {
  const Ended ended = RunProgram("tessera_quantize", {"--format=Q4_K", "--head_format=Q6_K", TinyPath("llama"), out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "Q5_0 instead of Q4_K in ")) << ended.output;
  EXPECT_TRUE(absl::StrContains(ended.output, "weights are no whole blocks of 256")) << ended.output;
  EXPECT_EQ(ended.output.find("instead of Q4_K"), ended.output.rfind("instead of Q4_K"));
  EXPECT_EQ(RunProgram("tessera_inspect", {"--verify", "--model=" + out_}).code, 0);
  const Ended answer = RunProgram("tessera_generate", {"--raw", "--prompt=the", "--n_predict=4", "--json", "--model=" + out_});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  EXPECT_EQ(JsonValue::Parse(answer.output)->Ints("tokens")->size(), 4u);
  for (const std::string& out : {out_, folder_.Path("model.tsr")}) {
    const JsonValue json = Json(RunProgram("tessera_quantize", {"--format=Q3_K", "--json", TinyPath("llama"), out}).output);
    ASSERT_GT(json.Array("instead")->size(), 7) << out;
    const JsonValue first = (*json.Array("instead"))[0];
    EXPECT_EQ(*first.String("wanted"), "Q3_K");
    EXPECT_EQ(*first.String("form"), "IQ4_NL");
    EXPECT_GT(*json.Double("bits_per_weight"), 4.5) << "the head is as it was";
    EXPECT_EQ(RunProgram("tessera_inspect", {"--verify", "--model=" + out}).code, 0);
  }
  const JsonValue fits = Json(RunProgram("tessera_quantize", {"--format=Q4_0", "--dry_run", "--json", TinyPath("llama")}).output);
  EXPECT_EQ(fits.Array("instead")->size(), 0);
}

TEST_F(QuantizeProgram, AModelOffTheGridWritesTheSameText) {
  const Ended ended = RunProgram("tessera_quantize", {"--off_grid=7", "--json", TinyPath("llama"), out_});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(*Json(ended.output).Int("bytes"), static_cast<int64_t>(std::filesystem::file_size(out_)));
  EXPECT_EQ(*Json(ended.output).String("scheme"), "off the grid, seed 7");
  EXPECT_EQ(RunProgram("tessera_inspect", {"--verify", "--model=" + out_}).code, 0);
  std::string texts[2];
  for (int i = 0; i < 2; ++i) {
    texts[i] = RunProgram("tessera_generate", {"--raw", "--prompt=the", "--n_predict=4", "--temperature=0", "--path=reference",
                                               "--model=" + (i == 0 ? TinyPath("llama") : out_)}).output;
  }
  EXPECT_EQ(texts[1], texts[0]);
}

TEST_F(QuantizeProgram, StatisticsWeighErrorsInGgufFilesToo) {
  const std::string statistics = folder_.Path("statistics.gguf"), plain = folder_.Path("plain.gguf");
  const std::string text = "--prompt=the in the end of a text, the and that it is in a text of the end";
  const Ended collected = RunProgram("tessera_quantize statistics", {text, TinyPath("llama"), statistics});
  ASSERT_EQ(collected.code, 0) << collected.errors;
  for (const std::string scheme : {"--scheme=IQ4_NL", "--scheme=IQ4_NL,attn_q=F16,head=Q8_0"}) {
    ASSERT_EQ(RunProgram("tessera_quantize", {scheme, TinyPath("llama"), plain}).code, 0);
    const Ended ended = RunProgram("tessera_quantize", {scheme, "--statistics=" + statistics, "--json", TinyPath("llama"), out_});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    ExpectTensors(Json(ended.output), /*measured=*/true);
    EXPECT_EQ(Contents(out_).size(), Contents(plain).size());
    EXPECT_NE(Contents(out_), Contents(plain)) << scheme;
  }
  const Ended other = RunProgram("tessera_quantize", {"--scheme=IQ4_NL", "--statistics=" + statistics, TinyPath("gemma3"), out_});
  EXPECT_NE(other.code, 0);
  EXPECT_TRUE(absl::StrContains(other.errors, "statistics of another model")) << other.errors;
}

TEST_F(QuantizeProgram, StatisticsAreUsedByBlockFormatsInPackedFiles) {
  const std::string statistics = folder_.Path("statistics.gguf"), plain = folder_.Path("plain.tsr"), out = folder_.Path("out.tsr");
  const std::string text = "--prompt=the in the end of a text, the and that it is in a text of the end";
  ASSERT_EQ(RunProgram("tessera_quantize statistics", {text, TinyPath("llama"), statistics}).code, 0);
  for (const std::string scheme : {"--scheme=T2", "--scheme=int4-tile,ffn_down=T3"}) {
    ASSERT_EQ(RunProgram("tessera_quantize", {scheme, TinyPath("llama"), plain}).code, 0);
    const Ended ended = RunProgram("tessera_quantize", {scheme, "--statistics=" + statistics, TinyPath("llama"), out});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(Contents(out).size(), Contents(plain).size());
    EXPECT_NE(Contents(out), Contents(plain)) << scheme;
    EXPECT_EQ(RunProgram("tessera_inspect", {"--verify", "--model=" + out}).code, 0);
  }
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
TEST_F(QuantizeProgram, APartOfTheModelWithoutTensorsIsNotOverwritten) {
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
  const std::string model = TinyPath("llama"), packed_out = folder_.Path("a.tsr"), statistics = "--statistics=" + model;
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"--out: found none", {"--head_format=Q4_1", model}},
      {"--format: found neither this flag nor --head_format", {model, out_}},
      {"--format: block format \"Q9\"", {"--format=Q9", model, out_}},
      {"--head_format: block format \"q4\"", {"--head_format=q4", model, out_}},
      {"--scheme: found the form \"Q9\"", {"--scheme=Q9", model, out_}},
      {"--scheme: found beside --format, expected one of them", {"--scheme=001", "--format=Q4_0", model, out_}},
      {"--scheme: found beside --head_format, expected one of them", {"--scheme=001", "--head_format=Q4_0", model, out_}},
      {"--scheme: found embedding=Q4_0 for a model whose embedding table is its head",
       {"--scheme=embedding=Q4_0", TinyPath("llama_tied"), out_}},
      {"--out: found " + out_ + ", expected a name that ends in .tsr: GGUF has no int4-tile", {"--scheme=001", model, out_}},
      {"--out: found " + out_ + ", expected a name that ends in .tsr: GGUF has no T2", {"--format=T2", model, out_}},
      {"--statistics: found with Q4_0, expected a scheme whose scales are searched", {"--scheme=Q4_0", statistics, model, out_}},
      {"--statistics: found with fp16, expected a scheme whose scales are searched", {"--scheme=fp16", statistics, model, packed_out}},
      {"--statistics: found with Q5_0, expected a scheme whose scales are searched",
       {"--scheme=IQ4_NL,ffn_down=Q5_0", statistics, model, out_}},
      {"--statistics: found with int4-tensor, expected a scheme whose scales are searched",
       {"--scheme=int4-tile,attn_q=int4-tensor", statistics, model, packed_out}},
      {"--statistics: found with Q8_0, expected a scheme whose scales are searched",
       {"--scheme=int4-tile,ffn_down=Q8_0", statistics, model, packed_out}},
      {"--statistics: found with keep, expected a scheme whose scales are searched", {"--scheme=keep", statistics, model, out_}},
      {"--statistics: /nowhere/text: cannot open", {"--scheme=001", "--statistics=/nowhere/text", model, packed_out}},
      {"--off_grid: found \"many\", expected a whole number, 0 and up", {"--off_grid=many", model, out_}},
      {"--off_grid: found beside --scheme, expected one of them", {"--off_grid=1", "--scheme=001", model, out_}},
      {"--off_grid: found beside --statistics, expected one of them", {"--off_grid=1", statistics, model, out_}},
      {"--out: found " + packed_out + ", expected a name that does not end in .tsr", {"--off_grid=1", model, packed_out}},
      {"--out: ", {"--head_format=Q4_1", model, "/nowhere/model"}},
  };
  for (const auto& [message, arguments] : cases) {
    const Ended ended = RunProgram("tessera_quantize", arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_TRUE(absl::StrContains(ended.errors, message)) << ended.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(packed_out));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(QuantizeProgram, APackedModelIsRefused) {
  EXPECT_EQ(RunProgram("tessera_pack", {TinyPath("llama"), folder_.Path("packed.tsr")}).code, 0);
  const Ended packed = RunProgram("tessera_quantize", {"--head_format=Q4_1", folder_.Path("packed.tsr"), out_});
  EXPECT_EQ(packed.code, 2);
  EXPECT_TRUE(absl::StrContains(packed.errors, "found a packed model, expected a GGUF file")) << packed.errors;
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace tessera
