// What a person types in a dialogue: messages of several lines, settings.
#include <string>

#include <gtest/gtest.h>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/chat_settings.h"
#include "tessera/runtime/chat/message_lines.h"

namespace tessera {
namespace {

TEST(MessageLines, HeaderExample) {
  MessageLines lines;
  std::string message;
  EXPECT_FALSE(lines.Add("\"\"\"Sort these words:", &message));
  EXPECT_TRUE(lines.open());
  EXPECT_TRUE(lines.Add("  pear, fig\"\"\"", &message));
  EXPECT_FALSE(lines.open());
  EXPECT_EQ(message, "Sort these words:\n  pear, fig");
}

std::string MessageOf(const std::vector<std::string>& typed) {
  MessageLines lines;
  std::string message;
  for (size_t i = 0; i < typed.size(); ++i) EXPECT_EQ(lines.Add(typed[i], &message), i + 1 == typed.size()) << typed[i];
  return message;
}

TEST(MessageLines, QuotesMayStandAloneOrBesideText) {
  EXPECT_EQ(MessageOf({"hello"}), "hello");
  EXPECT_EQ(MessageOf({"say \"\"\" twice"}), "say \"\"\" twice") << "only at the beginning they begin something";
  EXPECT_EQ(MessageOf({"\"\"\"", "a", "", "/exit", "\"\"\""}), "a\n\n/exit");
  EXPECT_EQ(MessageOf({"\"\"\"", "", "", "a", "\"\"\""}), "\n\na") << "empty lines belong to the message, also the first";
  EXPECT_EQ(MessageOf({"\"\"\"one line\"\"\""}), "one line");
  EXPECT_EQ(MessageOf({"\"\"\"\"\"\""}), "");
}

TEST(MessageLines, ADroppedMessageLeavesNothing) {
  MessageLines lines;
  std::string message;
  EXPECT_FALSE(lines.Add("\"\"\"a", &message));
  lines.Drop();
  EXPECT_TRUE(lines.Add("b", &message));
  EXPECT_EQ(message, "b");
}

TEST(ChatSettings, HeaderExample) {
  SamplingOptions sampling;
  int max_tokens = 512;
  const auto set = [&]() -> absl::Status {
    RETURN_IF_ERROR(SetChatSetting("temperature", "0.5", sampling, max_tokens));
    return absl::OkStatus();
  };
  EXPECT_EQ(set(), absl::OkStatus());
  EXPECT_EQ(ChatSettingsText(sampling, max_tokens), "temperature 0.5, top_k 40, top_p 0.95, min_p 0.05, repetition_penalty 1, "
                                                    "penalty_window 64, seed 0, n_predict 512");
}

TEST(ChatSettings, EverySettingHasTheNameOfItsFlag) {
  SamplingOptions sampling;
  int max_tokens = 512;
  for (const char* name : {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "penalty_window", "seed", "n_predict"}) {
    EXPECT_EQ(SetChatSetting(name, "1", sampling, max_tokens), absl::OkStatus()) << name;
  }
  EXPECT_EQ(ChatSettingsText(sampling, max_tokens), "temperature 1, top_k 1, top_p 1, min_p 1, repetition_penalty 1, penalty_window 1, "
                                                    "seed 1, n_predict 1");
  EXPECT_EQ(SetChatSetting("seed", "18446744073709551615", sampling, max_tokens), absl::OkStatus());
  EXPECT_EQ(sampling.seed, 18446744073709551615u);
}

TEST(ChatSettings, AWrongValueIsAnErrorAndChangesNothing) {
  SamplingOptions sampling;
  int max_tokens = 512;
  const std::string before = ChatSettingsText(sampling, max_tokens);
  const auto error = [&](const char* name, const char* value) {
    const absl::Status status = SetChatSetting(name, value, sampling, max_tokens);
    EXPECT_EQ(ChatSettingsText(sampling, max_tokens), before);
    return std::string(status.message());
  };
  EXPECT_EQ(error("temperature", "hot"), "temperature: found \"hot\", expected a number");
  EXPECT_EQ(error("top_k", "1.5"), "top_k: found \"1.5\", expected a whole number");
  EXPECT_EQ(error("n_predict", "-1"), "n_predict: found -1, expected 0 to 1073741824");
  EXPECT_EQ(error("tempature", "1"), "/set: found \"tempature\", expected one of temperature, top_k, top_p, min_p, repetition_penalty, "
                                     "penalty_window, seed, n_predict; did you mean temperature?");
  for (const char* value : {"-1", "nan", "inf", "1e99"}) EXPECT_NE(error("temperature", value), "") << value;
  EXPECT_EQ(error("top_p", "0").rfind("top_p: found 0", 0), 0u) << error("top_p", "0");
}

}  // namespace
}  // namespace tessera
