#include "tessera/model/files/verify.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class Verify : public testing::Test {
 protected:
  VerifyReport Run(const std::string& bytes, int threads = 1) {
    std::ofstream(path_, std::ios::binary) << bytes;
    ThreadPool pool(threads);
    return VerifyModel(path_, pool, [this](int64_t done, int64_t total) { done_ = done, total_ = total; });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.gguf");
  int64_t done_ = 0, total_ = 0;
};

TEST_F(Verify, HeaderExample) {
  std::string shown;
  const auto Show = [&](const std::string& message) { shown += message; };
  BadFile bad = BadModelFiles().back();
  std::ofstream(path_, std::ios::binary) << bad.bytes;
  ThreadPool pool(2);
  const VerifyReport report = VerifyModel(path_, pool, [](int64_t done, int64_t total) {});
  for (const FileProblem& problem : report.problems) Show(problem.message);
  EXPECT_NE(shown.find("found a NaN or an infinity in 1 of "), std::string::npos) << shown;
}

TEST_F(Verify, AGoodModelHasNoProblems) {
  const VerifyReport report = Run(TinyModelBuilder({.architecture = "gemma3"}).Build(), 3);
  EXPECT_TRUE(report.problems.empty()) << report.problems[0].message;
  EXPECT_EQ(report.tensors, 29);
  EXPECT_EQ(report.unused_tensors, 0);
  EXPECT_EQ(report.unused_bytes, 0);
  EXPECT_GT(report.tensor_bytes, 100'000);
  EXPECT_EQ(done_, report.tensor_bytes);
  EXPECT_EQ(total_, report.tensor_bytes);
}

// Whatever loading refuses, this finds; and it goes on.
TEST_F(Verify, FindsEveryBadFile) {
  for (const auto& files : {BadGgufFiles(), BadModelFiles()}) {
    for (const BadFile& file : files) {
      const VerifyReport report = Run(file.bytes);
      ASSERT_FALSE(report.problems.empty()) << file.name;
      EXPECT_EQ(report.problems[0].message.substr(0, path_.size()), path_) << file.name;
      EXPECT_EQ(report.problems[0].file, path_);
    }
  }
}

TEST_F(Verify, NamesEveryProblemOfAFile) {
  GgufBuilder builder = TinyModelBuilder({.without = {"blk.0.attn_k.weight", "blk.1.ffn_up.weight"}});
  builder.Corrupt<uint32_t>("metadata tokenizer.ggml.bos_token_id value", 300)
      .Corrupt<uint64_t>("tensor output_norm.weight ne0", 32);
  const std::string numbers("\0\0\x80\x3f\0\0\xc0\x7f\0\0\x80\xff", 12);  // 1, a NaN and an infinity.
  builder.Tensor("extra", {3}, 0, numbers);  // Nothing reads it, so its numbers do not matter.
  builder.Tensor("blk.0.attn_q.bias", {64}, 0, numbers + std::string(244, '\0'));
  const VerifyReport report = Run(builder.Build() + std::string(1000, 'z'));
  std::vector<std::string> messages;
  for (const FileProblem& problem : report.problems) messages.push_back(problem.message);
  const size_t bias = builder.Build().size() - 256;
  EXPECT_EQ(messages,
            (std::vector<std::string>{
                absl::StrCat(path_, ": metadata \"tokenizer.ggml.bos_token_id\" value at byte ",
                             builder.OffsetOf("metadata tokenizer.ggml.bos_token_id value"),
                             ": found 300, expected an id below the 265 entries of tokenizer.ggml.tokens"),
                path_ + ": tensor \"extra\": found a tensor that no part of a llama model reads, expected none, since the model would "
                        "write other texts without it; convert the original model again, or run the file with a program that reads it",
                absl::StrCat(path_, ": tensor output_norm.weight: shape at byte ",
                             builder.OffsetOf("tensor output_norm.weight n_dims"), ": found [32], expected [64]"),
                path_ + ": tensor blk.0.attn_k.weight: missing, expected 32 x 64",
                path_ + ": tensor blk.1.ffn_up.weight: missing, expected 96 x 64",
                absl::StrCat(path_, ": tensor \"blk.0.attn_q.bias\": found a NaN or an infinity in 2 of 64 F32 values, the first at byte ",
                             bias + 4, ", expected finite numbers")}));
  EXPECT_EQ(report.problems[1].tensor, "extra");
  EXPECT_EQ(report.problems[5].tensor, "blk.0.attn_q.bias");
  EXPECT_EQ(report.problems[5].offset, static_cast<int64_t>(bias + 4));
  EXPECT_EQ(report.unused_tensors, 1);
  EXPECT_EQ(report.unused_bytes, 1000 + 128);  // After the last; and half of the norm, which is now too short.
}

// What a run would refuse, this names.
TEST_F(Verify, NamesATemplateAndSamplingThatCannotBe) {
  GgufBuilder builder = TinyModelBuilder({});
  builder.String("tokenizer.chat_template", "{% if %}").Number("general.sampling.top_p", 2.0f);
  const VerifyReport report = Run(builder.Build());
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_NE(report.problems[0].message.find("chat_template"), std::string::npos) << report.problems[0].message;
  EXPECT_NE(report.problems[1].message.find("\"general.sampling.top_p\" value at byte "), std::string::npos);
}

TEST_F(Verify, CountsCoverAllChunksAndThreads) {
  const int64_t rows = 46'880, values = 64 * rows;
  std::vector<float> numbers(values, 1.0f);
  for (const int64_t at : {values - 1, int64_t{1'500'000}, int64_t{700'001}}) numbers[at] = 1.0f / 0.0f;
  GgufBuilder builder = TinyModelBuilder({.feed_forward = rows, .layers = 1, .without = {"blk.0.ffn_up.weight"}});
  builder.Tensor("blk.0.ffn_up.weight", {64, rows}, 0, std::string(reinterpret_cast<const char*>(numbers.data()), 4 * values));
  const std::string bytes = builder.Build();
  for (const int threads : {1, 4}) {
    const VerifyReport report = Run(bytes, threads);
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_NE(report.problems[0].message.find("in 3 of 3000320 F32 values"), std::string::npos) << report.problems[0].message;
    EXPECT_EQ(report.problems[0].offset, static_cast<int64_t>(bytes.size()) - 4 * (values - 700'001));
  }
}

TEST_F(Verify, ProblemsOfAPartNameThatPart) {
  std::vector<GgufBuilder> parts = TinyModelBuilder({}).Split(3);
  parts[2].Corrupt<uint64_t>("tensor output.weight ne1", 256);
  const SplitModel model(parts);
  ThreadPool pool(1);
  const VerifyReport report = VerifyModel(model.Path(0), pool, [](int64_t, int64_t) {});
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].file, model.Path(2));
  parts[2].Build();
  EXPECT_EQ(report.problems[0].message,
            absl::StrCat(model.Path(2), ": tensor output.weight: shape at byte ", parts[2].OffsetOf("tensor output.weight n_dims"),
                         ": found [64, 256], expected [64, 265]"));
}

// Whichever part was asked for, a problem's file is the one that its message begins with.
TEST_F(Verify, TheFileOfAProblemIsThePartAtFault) {
  const std::vector<GgufBuilder> good = TinyModelBuilder({}).Split(3);
  const SplitModel model(good);
  ThreadPool pool(1);
  const auto expect = [&](int blamed, const std::string& message) {
    for (int asked_for = 0; asked_for < 3; ++asked_for) {
      const VerifyReport report = VerifyModel(model.Path(asked_for), pool, [](int64_t, int64_t) {});
      ASSERT_EQ(report.problems.size(), 1u) << message;
      EXPECT_EQ(report.problems[0].message, model.Path(blamed) + message);
      EXPECT_EQ(report.problems[0].file, model.Path(blamed)) << message;
    }
  };
  model.Write(1, GgufBuilder(good[1]).Corrupt<uint32_t>("version", 9));
  expect(1, ": version at byte 4: found 9, expected 2 or 3");
  model.Write(1, good[1]);
  model.Write(0, GgufBuilder(good[0]).Corrupt<uint32_t>("metadata tokenizer.ggml.bos_token_id value", 300));
  expect(0,
         ": metadata \"tokenizer.ggml.bos_token_id\" value at byte 483: found 300, expected an id below the 265 entries of "
         "tokenizer.ggml.tokens");
  model.Write(0, GgufBuilder(good[0]).Corrupt<uint32_t>("metadata llama.block_count value", 0));
  expect(0, ": metadata \"llama.block_count\" value at byte 213: found 0, expected 1 to 4096");
  model.Write(0, good[0]);
  model.Write(2, GgufBuilder(good[2]).Corrupt<uint64_t>("tensor output.weight ne1", 256));
  expect(2, ": tensor output.weight: shape at byte 475: found [64, 256], expected [64, 265]");
}

}  // namespace
}  // namespace tessera
