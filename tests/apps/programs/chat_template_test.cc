// Programs run the template of a model's file: what they show and encode is what the template writes.
#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kThinks[] =
    "{{ bos_token }}{% for m in messages %}{% set text = m.content if m.role != 'assistant' else m.content.split('</think>')[-1] %}"
    "[{{ m.role }}]{{ text|trim }}{{ eos_token }}{% endfor %}{% if tools %}T{{ tools|tojson }}{% endif %}"
    "{% if add_generation_prompt %}[assistant]{{ '<think>\n' if enable_thinking is not false }}{% endif %}";

class ChatTemplates : public testing::Test {
 protected:
  std::string File(const std::string& source) {
    TokenizerMetadata metadata = SmallBytePair();
    metadata.Set("tokenizer.chat_template", TokenizerMetadata::String(source));
    GgufBuilder builder;
    AddTo(builder, metadata);
    const std::string path = folder_.path() + "/vocabulary.gguf";
    std::ofstream(path, std::ios::binary) << builder.Build();
    return path;
  }
  Ended Tokenize(const std::string& source, std::vector<std::string> arguments, const std::string& input = "") {
    arguments.push_back("--model=" + File(source));
    return Program("tessera_tokenize", arguments).Finish(input);
  }

  TemporaryFolder folder_;
};

TEST_F(ChatTemplates, ShowPromptIsTheTextThatTheTemplateWrites) {
  const Ended ended = Tokenize(kThinks, {"--chat", "--show_prompt", "--prompt= hi ", "--system=S"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.output, "<|im_start|>[system]S<|im_end|>[user]hi<|im_end|>[assistant]<think>\n");
  EXPECT_EQ(Tokenize(kThinks, {"--chat", "--show_prompt", "--prompt=hi", "--template_args={\"enable_thinking\": false}"}).output,
            "<|im_start|>[user]hi<|im_end|>[assistant]");
  const JsonValue json = Json(Tokenize(kThinks, {"--chat", "--show_prompt", "--json", "--prompt=<|im_end|>"}).output);
  EXPECT_EQ(*json.String("prompt"), "<|im_start|>[user]<|im_end|><|im_end|>[assistant]<think>\n");
  const std::vector<int64_t> tokens = *json.Ints("tokens");
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), kImStart), 1) << "BOS comes once";
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), kImEnd), 1) << "what the user wrote is text";
}

TEST_F(ChatTemplates, RequestsCarryMessagesToolsAndArguments) {
  const Ended ended = Tokenize(
      kThinks, {"--jsonl", "--show_prompt"},
      "{\"id\": 1, \"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"x</think>b\"},"
      " {\"role\": \"user\", \"content\": \"c\"}], \"tools\": [{\"name\": \"f\"}], \"template_args\": {\"enable_thinking\": false}}\n"
      "{\"id\": 2, \"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": null}\n");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n');
  ASSERT_GE(lines.size(), 2u) << ended.output;
  EXPECT_EQ(*Json(lines[0]).String("prompt"),
            "<|im_start|>[user]a<|im_end|>[assistant]b<|im_end|>[user]c<|im_end|>T[{\"name\": \"f\"}][assistant]");
  EXPECT_EQ(*Json(lines[1]).String("prompt"), "<|im_start|>[user]a<|im_end|>[assistant]<think>\n");
}

TEST_F(ChatTemplates, AnErrorOfATemplateNamesFileAndLine) {
  const Ended ended = Tokenize("\n{{ raise_exception('no system turn') }}", {"--chat", "--prompt=a"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "vocabulary.gguf")) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, "line 2: the template refuses the messages: no system turn")) << ended.errors;
  const Ended broken = Tokenize("{% if %}", {"--chat", "--prompt=a"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_TRUE(absl::StrContains(broken.errors, "line 1: found %}, expected an expression; name one of chatml, llama3, gemma"))
      << broken.errors;
  // It is an error only where it is used.
  EXPECT_EQ(Tokenize("{% if %}", {"--prompt=a"}).code, 0);
  EXPECT_EQ(Tokenize("{% if %}", {"--chat", "--chat_template=chatml", "--show_prompt", "--prompt=a"}).output,
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(ChatTemplates, FlagsThatNeedADialogueSaySo) {
  for (const char* flag : {"--show_prompt", "--system=a", "--system=", "--template_args={}", "--chat_template=chatml"}) {
    const Ended ended = Tokenize(kThinks, {flag, "--prompt=a"});
    EXPECT_EQ(ended.code, 2) << flag;
    EXPECT_TRUE(absl::StrContains(ended.errors, "without a dialogue")) << ended.errors;
  }
  for (const char* value : {"{", "[]", "{\"a\": 99999999999999999999}"}) {
    EXPECT_NE(Tokenize(kThinks, {"--chat", "--prompt=a", absl::StrCat("--template_args=", value)}).code, 0) << value;
  }
}

TEST_F(ChatTemplates, AnEmptySystemMessageIsWritten) {
  EXPECT_EQ(Tokenize(kThinks, {"--chat", "--show_prompt", "--prompt=hi", "--system="}).output,
            "<|im_start|>[system]<|im_end|>[user]hi<|im_end|>[assistant]<think>\n");
}

TEST_F(ChatTemplates, AnArgumentThatTheTemplateDoesNotReadIsWrongUsageOfItsFlag) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"foo\": 1}", "--template_args: found \"foo\", expected what the chat template reads: enable_thinking"},
      {"{\"tools\": []}", "--template_args: found \"tools\", expected names of other variables than those of the dialogue"},
  };
  for (const auto& [value, said] : cases) {
    const Ended ended = Tokenize(kThinks, {"--chat", "--prompt=a", absl::StrCat("--template_args=", value)});
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(absl::StrContains(ended.errors, said)) << ended.errors;
    EXPECT_FALSE(absl::StrContains(ended.errors, "--raw")) << ended.errors;
  }
}

TEST_F(ChatTemplates, ToolsHaveATemplateOfTheirOwn) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.chat_template.default", TokenizerMetadata::String("{{ messages[0].content }}"));
  metadata.Set("tokenizer.chat_template.tool_use", TokenizerMetadata::String("{{ tools|length }}{{ messages[0].content }}"));
  GgufBuilder builder;
  AddTo(builder, metadata);
  const std::string path = folder_.Path("named.gguf");
  std::ofstream(path, std::ios::binary) << builder.Build();
  const std::string messages = R"("messages": [{"role": "user", "content": "a"}])";
  const Ended ended = Program("tessera_tokenize", {"--jsonl", "--show_prompt", "--model=" + path})
                          .Finish("{\"id\": 1, " + messages + "}\n{\"id\": 2, \"tools\": [{}, {}], " + messages + "}\n");
  const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n');
  ASSERT_GE(lines.size(), 2u) << ended.output << ended.errors;
  EXPECT_EQ(*Json(lines[0]).String("prompt"), "a");
  EXPECT_EQ(*Json(lines[1]).String("prompt"), "2a");
}

TEST_F(ChatTemplates, BytesWithoutATokenAreCounted) {
  TokenizerMetadata metadata = SmallBytePair();
  const TokenizerFacts facts = metadata.Facts();
  std::vector<std::string> tokens;
  for (absl::string_view text : *facts.tokens.value) tokens.emplace_back(text);
  tokens[7] = "x7";   // So the bytes 7 and 8 have none.
  tokens[8] = "x8";
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  GgufBuilder builder;
  AddTo(builder, metadata);
  const std::string path = folder_.Path("lossy.gguf");
  std::ofstream(path, std::ios::binary) << builder.Build();
  const auto tokenize = [&](const std::string& text) { return Program("tessera_tokenize", {"--model=" + path, "--json"}).Finish(text); };
  const Ended lossy = tokenize("a\x07hello\x08\x07");
  EXPECT_EQ(lossy.code, 0);
  EXPECT_EQ(*Json(lossy.output).Ints("tokens"), (std::vector<int64_t>{'a', kHello}));
  EXPECT_TRUE(absl::StrContains(lossy.errors, "text: found 3 bytes for which the vocabulary has no token; they are left out"))
      << lossy.errors;
  EXPECT_EQ(tokenize("a\thello").errors, "");
}

TEST_F(ChatTemplates, AnAdapterHasNoTokens) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("general.type", TokenizerMetadata::String("adapter"));
  GgufBuilder builder;
  AddTo(builder, metadata);
  const std::string path = folder_.Path("adapter.gguf");
  std::ofstream(path, std::ios::binary) << builder.Build();
  const Ended ended = Program("tessera_tokenize", {"--model=" + path, "--prompt=a"}).Finish("");
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "found \"adapter\", expected \"model\": the file is an adapter")) << ended.errors;
}

TEST_F(ChatTemplates, NothingThatARequestSaysIsPassedOver) {
  const auto error = [&](const std::string& source, const std::string& members) {
    const Ended ended = Tokenize(source, {"--jsonl"}, "{\"id\": 1, " + members + "}\n");
    EXPECT_EQ(ended.code != 0, Json(ended.output).Has("error")) << ended.output << ended.errors;
    return ended.errors;
  };
  const std::string messages = R"("messages": [{"role": "user", "content": "a"}])";
  EXPECT_TRUE(absl::StrContains(error(kThinks, R"("text": "a", "max_tokens": 3)"), "standard input, line 1: max_tokens: found a field"));
  EXPECT_TRUE(absl::StrContains(error(kThinks, R"("text": "a", "tools": [{}])"), "tools without messages"));
  EXPECT_TRUE(absl::StrContains(error(kThinks, R"("text": "a", )" + messages), "several of text, tokens and messages"));
  EXPECT_TRUE(absl::StrContains(error(kThinks, R"("special": true, )" + messages), "special without text"));
  EXPECT_TRUE(absl::StrContains(error(kThinks, R"("tokens": [1])"), "found tokens"));
  EXPECT_TRUE(absl::StrContains(error(kThinks, messages + R"(, "template_args": {"enable_thinkin": false})"), "enable_thinkin"));
  constexpr char kPlain[] = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
  EXPECT_TRUE(absl::StrContains(error(kPlain, messages + R"(, "tools": [{}])"), "tools: found some"));
  EXPECT_TRUE(absl::StrContains(error(kPlain, R"("messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}])"),
                                "messages[0].content: found content of a message of role \"system\", expected content that the chat "
                                "template writes"));
  EXPECT_EQ(error(kPlain, messages), "");
  const Ended system = Tokenize(kPlain, {"--chat", "--prompt=a", "--system=s"});
  EXPECT_EQ(system.code, 2);
  EXPECT_TRUE(absl::StrContains(system.errors, "--system")) << system.errors;
}

TEST_F(ChatTemplates, APromptIsWrittenOrTheRunFails) {
  const std::string role = "{% for m in messages %}[{{ m.role }}]";
  const Ended parts = Tokenize(role + "{% for p in m.content %}{{ p.text if p.type == 'text' }}{% endfor %}{% endfor %}",
                               {"--chat", "--show_prompt", "--prompt=hi", "--system=S"});
  EXPECT_EQ(parts.output, "[system]S[user]hi") << parts.errors;
  const Ended none = Tokenize(role + "{% endfor %}", {"--chat", "--show_prompt", "--prompt=hi"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.output, "");
  EXPECT_TRUE(absl::StrContains(none.errors, "found a template that leaves out the content of a message of role \"user\"")) << none.errors;
}

TEST_F(ChatTemplates, AMessageThatTheTemplateRefusesEndsNoDialogue) {
  const auto text = [](const std::string& value) {
    const uint64_t size = value.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + value;
  };
  std::ifstream whole(TinyPath("llama"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  // A further key before the others, of a multiple of 32 bytes, so that the tensors stay aligned.
  std::string source = "{% for m in messages %}{{ raise_exception('no bad words') if 'bad' in m.content }}{{ m.content }}{% endfor %}";
  const std::string key = text("tokenizer.chat_template") + std::string("\x08\0\0\0", 4);
  while ((key.size() + text(source + "{##}").size()) % 32 != 0) source += " ";
  ++bytes[16];
  bytes.insert(24, key + text(source + "{##}"));
  const std::string path = folder_.path() + "/model.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  const std::vector<std::string> flags = {"--model=" + path, "--threads=1", "--temperature=0", "--chat", "--n_predict=3"};
  const Ended good = Program("tessera_generate", flags).Finish("the in\nthe re\n");
  EXPECT_EQ(good.code, 0) << good.errors;
  const Ended ended = Program("tessera_generate", flags).Finish("the in\na bad one\nthe re\n");
  EXPECT_EQ(ended.output, good.output) << "the turn is dropped";
  EXPECT_TRUE(absl::StrContains(ended.errors, "line 1: the template refuses the messages: no bad words")) << ended.errors;
  EXPECT_EQ(ended.code, 1) << "no run that lost something ends well";
}

TEST_F(ChatTemplates, InspectReportsTheAbilitiesOfATemplate) {
  const std::string path = File(kThinks);
  const Ended text = Program("tessera_inspect", {"--model=" + path}).Finish("");
  EXPECT_TRUE(absl::StrContains(text.output, "chat template: writes a system message, tools; --template_args may set enable_thinking\n"))
      << text.output << text.errors;
  const auto chat = Json(Program("tessera_inspect", {"--json", "--model=" + path}).Finish("").output).Object("chat_template");
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_TRUE(*chat->Bool("system_turn"));
  EXPECT_FALSE(*chat->Bool("earlier_reasoning"));
}

}  // namespace
}  // namespace tessera
