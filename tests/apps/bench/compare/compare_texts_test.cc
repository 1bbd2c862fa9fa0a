// tessera_verify finds the smallest possible difference, and none where there is none.
#include "tessera/apps/bench/compare/compare_texts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

constexpr int kVocabulary = 40, kTokens = 5;

// Writes `texts` texts; `change` may change the logits of token `at` in text 1.
TextProducer Writer(int texts, int at = -1, std::function<void(std::vector<float>&, TokenId&)> change = nullptr) {
  return [=](TextSender& sender) -> absl::Status {
    for (int text = 0; text < texts; ++text) {
      for (int i = 0; i < kTokens; ++i) {
        std::vector<float> logits(kVocabulary, 0.5f + static_cast<float>(text + i));
        TokenId token = i;
        if (text == 1 && i == at) change(logits, token);
        if (absl::Status sent = sender.Token(token, logits); !sent.ok()) return sent;
      }
      if (absl::Status sent = sender.EndOfText({.reason = FinishReason::kLength, .passes = 4, .rows = 9}); !sent.ok()) return sent;
    }
    return absl::OkStatus();
  };
}

void FlipLastBit(float& value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits ^= 1;
  std::memcpy(&value, &bits, sizeof(bits));
}

TEST(CompareTexts, EqualOnesAreEqual) {
  const Comparison comparison = *CompareTexts(Writer(3), Writer(3));
  EXPECT_FALSE(comparison.difference.has_value());
  EXPECT_EQ(comparison.prompts, 3);
  EXPECT_EQ(comparison.tokens, 15);
  EXPECT_EQ(comparison.a.passes, 12);
  EXPECT_EQ(comparison.b.rows, 27);
}

TEST(CompareTexts, OneBitOfOneLogitIsADifference) {
  for (int token = 0; token < kTokens; ++token) {
    for (const int logit : {0, 17, kVocabulary - 1}) {
      const auto change = [&](std::vector<float>& logits, TokenId&) { FlipLastBit(logits[logit]); };
      const Comparison comparison = *CompareTexts(Writer(3), Writer(3, token, change));
      ASSERT_TRUE(comparison.difference.has_value());
      const TextDifference& difference = *comparison.difference;
      EXPECT_EQ(difference.prompt, 1);
      EXPECT_EQ(difference.token, token);
      EXPECT_EQ(difference.logits_different, 1);
      EXPECT_EQ(difference.logits, kVocabulary);
      EXPECT_EQ(difference.widest, logit);
      EXPECT_NE(difference.widest_a, difference.widest_b);
      EXPECT_EQ(comparison.tokens, kTokens + token) << "those before it";
    }
  }
}

TEST(CompareTexts, ZerosOfTwoSignsDifferAndANanIsItself) {
  const auto set = [](float value) { return [value](std::vector<float>& logits, TokenId&) { logits[3] = value; }; };
  EXPECT_TRUE(CompareTexts(Writer(2, 1, set(0.0f)), Writer(2, 1, set(-0.0f)))->difference.has_value());
  EXPECT_FALSE(CompareTexts(Writer(2, 1, set(std::nanf(""))), Writer(2, 1, set(std::nanf(""))))->difference.has_value());
}

TEST(CompareTexts, AnotherTokenFromTheSameLogitsIsADifference) {
  const Comparison comparison = *CompareTexts(Writer(2), Writer(2, 4, [](std::vector<float>&, TokenId& token) { token = 30; }));
  ASSERT_TRUE(comparison.difference.has_value());
  EXPECT_EQ(DifferenceLine(*comparison.difference), "prompt 2, token 4: a chose 4, b chose 30; 0 of 40 logits differ");
}

TEST(CompareTexts, ATextThatEndsEarlierOrOtherwiseIsADifference) {
  const auto ends = [](int tokens, FinishReason reason) {
    return [=](TextSender& sender) -> absl::Status {
      for (int i = 0; i < tokens; ++i) {
        if (absl::Status sent = sender.Token(i, {1.0f}); !sent.ok()) return sent;
      }
      return sender.EndOfText({.reason = reason});
    };
  };
  const Comparison shorter = *CompareTexts(ends(3, FinishReason::kLength), ends(2, FinishReason::kEndToken));
  ASSERT_TRUE(shorter.difference.has_value());
  EXPECT_EQ(DifferenceLine(*shorter.difference), "prompt 1, token 2: a chose 2, b had ended (end of text)");
  const Comparison other = *CompareTexts(ends(3, FinishReason::kLength), ends(3, FinishReason::kStopString));
  ASSERT_TRUE(other.difference.has_value());
  EXPECT_EQ(DifferenceLine(*other.difference), "prompt 1, token 3: a had ended (length), b had ended (stop string)");
}

TEST(CompareTexts, AWriterThatFailsOrDiesIsNamed) {
  const auto fails = [](TextSender&) { return absl::NotFoundError("m.gguf: found nothing"); };
  EXPECT_EQ(CompareTexts(Writer(1), fails).status(), absl::NotFoundError("m.gguf: found nothing (--b)"));
  const auto dies = [](TextSender&) -> absl::Status { _exit(0); };
  EXPECT_TRUE(absl::IsAborted(CompareTexts(dies, Writer(1)).status()));
  EXPECT_FALSE(CompareTexts(Writer(1), Writer(2)).ok()) << "one has a text more";
}

// Where a tensor's bytes begin in a packed file.
int64_t PlaceOf(const std::string& tensor, const std::string& path) {
  const std::unique_ptr<TsrReader> file = *TsrReader::Open(path);
  for (int unit = 0; unit < file->units(); ++unit) {
    for (const TsrEntry& entry : file->Entries(unit)) {
      if (entry.name == tensor) return file->UnitOffset(unit) + entry.offset;
    }
  }
  LOG(FATAL) << tensor << " is not in " << path;
}

void FlipBit(const std::string& path, int64_t place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const int byte = file.get();
  file.seekp(place);
  file.put(static_cast<char>(byte ^ 1));
}

// The program, on models of the tests.
class VerifyProgram : public testing::Test {
 protected:
  static Ended Verify(const std::vector<std::string>& flags, const std::string& program = "tessera_verify") {
    std::vector<std::string> all = {"--n_predict=24", "--temperature=0", "--threads=1"};
    all.insert(all.end(), flags.begin(), flags.end());
    return RunProgram(program, all, "the in re the in\na a a a a a\n\n{\"id\": 1, \"tokens\": [70, 71, 70, 71]}\n");
  }
};

TEST_F(VerifyProgram, WaysToWriteAreEqual) {
  const PackedModel packed(TinyPath("llama"));
  const std::string model = "--model=" + packed.gguf();
  for (const std::string& b :
       {std::string("speculate=auto"), std::string("speculate=lookup threads=2 rows=5"), std::string("kernels=portable"),
        "model=" + packed.path() + " memory_budget=1GiB pin=none io=pread verify=always speculate=auto"}) {
    const Ended ended = Verify({model, "--b=" + b});
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(ended.output.rfind("equal: 3 prompts, ", 0), 0u) << b << ": " << ended.output;
  }
  const JsonValue json = Json(Verify({model, "--json", "--temperature=0.7", "--seed=3"}).output);
  EXPECT_TRUE(*json.Bool("equal"));
  EXPECT_GT(*json.Int("tokens"), 40);
  EXPECT_EQ(*json.Object("a")->Int("rows"), *json.Int("tokens") - 3);
  EXPECT_EQ(*json.Object("a")->String("settings"), "speculate=none");
}

TEST_F(VerifyProgram, OneBitOfAWeightIsFound) {
  const PackedModel packed(TinyPath("llama"));
  const std::string broken = packed.path() + ".broken";
  std::filesystem::copy_file(packed.path(), broken);
  FlipBit(broken, PlaceOf("output_norm.weight", packed.path()) + 2);  // In the upper half of an FP32 number's mantissa.
  const std::string streamed = " memory_budget=1GiB pin=none";
  const std::vector<std::string> flags = {"--a=model=" + packed.path() + streamed, "--b=model=" + broken + streamed + " verify=never"};
  const Ended ended = Verify(flags);
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_EQ(ended.output.rfind("different: prompt 1, token ", 0), 0u) << ended.output;
  EXPECT_NE(ended.output.find(" of 271 logits differ, most that of token "), std::string::npos) << ended.output;
  EXPECT_NE(ended.errors.find("found a difference, expected none"), std::string::npos) << ended.errors;
  std::vector<std::string> json = flags;
  json.push_back("--json");
  EXPECT_FALSE(*Json(Verify(json).output).Bool("equal"));
  const JsonValue difference = *Json(Verify(json).output).Object("difference");
  EXPECT_GT(*difference.Int("logits_different"), 0);
  EXPECT_NE(*difference.Double("widest_a"), *difference.Double("widest_b"));
}

// A build whose products over several rows have one bit wrong (tests/fakes/wrong_bit.cc): rows one by one are right, drafts are not.
TEST_F(VerifyProgram, ABuildThatIsWrongInOneBitIsFound) {
  const std::string model = "--model=" + TinyPath("llama"), wrong = "tessera_verify_wrong_bit";
  const Ended ended = Verify({model, "--b=speculate=lookup"}, wrong);
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_EQ(ended.output.rfind("different: prompt ", 0), 0u) << ended.output;
  EXPECT_NE(ended.errors.find("found a difference, expected none"), std::string::npos) << ended.errors;
  const Ended alone = Verify({model, "--b=speculate=none threads=2"}, wrong);
  EXPECT_EQ(alone.code, 0) << alone.output << alone.errors;
}

TEST_F(VerifyProgram, OtherNumbersAreOtherTexts) {
  const Ended ended = Verify({"--model=" + TinyPath("llama"), "--b=kv_format=q8"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.output.find("different: prompt 1, token 0: "), std::string::npos) << ended.output;
}

// It draws on the costs in a file, and writes none.
TEST_F(VerifyProgram, CostsAreUsedOrRefused) {
  const std::string model = "--model=" + TinyPath("llama");
  const std::string costs = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation/flat_costs.json";
  EXPECT_EQ(Verify({model, "--cost_profile=" + costs}).code, 0) << "the way that drafts uses them";
  EXPECT_EQ(Verify({model, "--b=speculate=auto cost_profile=" + costs}).code, 0);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--b=speculate=none", "--cost_profile=" + costs},
       "--cost_profile: found a value that neither --a=\"speculate=none\" nor --b=\"speculate=none\" takes"},
      {{"--b=speculate=none cost_profile=" + costs}, "--b: --cost_profile: found with speculate=none, expected drafters"},
      {{"--cost_profile=/nowhere/costs"}, "--cost_profile: found /nowhere/costs, which is not there"},
      {{"--b=speculate=auto cost_profile=none_there"}, "--b: --cost_profile: found none_there, which is not there"},
  };
  for (const auto& [flags, said] : cases) {
    std::vector<std::string> all = flags;
    all.push_back(model);
    const Ended ended = Verify(all);
    EXPECT_EQ(ended.code, 2) << said;
    EXPECT_NE(ended.errors.find(said), std::string::npos) << ended.errors;
  }
}

TEST_F(VerifyProgram, WrongSettingsAreWrongUsage) {
  const std::pair<const char*, const char*> cases[] = {
      {"thread=1", "--b: found the setting \"thread\", expected one of rows, speculate, draft_model, tree, history, cost_profile, model"},
      {"thread=1", "did you mean threads?"},
      {"threads=x", "--b: the setting threads: found \"x\""},
      {"threads", "--b: the setting threads: found \"\", expected NAME=VALUE"},
      {"rows=0", "--b: the setting rows: found \"0\""},
      {"threads=1 threads=2", "--b: found the setting \"threads\" twice"},
      {"speculate=lokup", "--b: --speculate: "},
      {"kernels=best", "--b: --kernels: "},
      {"dry_run=true", "found the setting \"dry_run\""},
  };
  for (const auto& [settings, said] : cases) {
    const Ended ended = Verify({"--model=" + TinyPath("llama"), std::string("--b=") + settings});
    EXPECT_EQ(ended.code, 2) << settings << ended.errors;
    EXPECT_EQ(ended.output, "") << settings;
    EXPECT_NE(ended.errors.find(said), std::string::npos) << settings << ": " << ended.errors;
  }
  EXPECT_EQ(RunProgram("tessera_verify", {"--model=" + TinyPath("llama")}, "\n").code, 2) << "no prompt";
  EXPECT_EQ(RunProgram("tessera_verify", {"--model=" + TinyPath("llama"), "--prompts=/nowhere"}).code, 1);
}

}  // namespace
}  // namespace tessera
