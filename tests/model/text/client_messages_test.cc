// Messages as clients send them to a server: arguments as JSON text, nulls, fields that not every template reads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/clock.h"
#include "tessera/base/json.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/internal/last_message.h"
#include "tessera/model/text/internal/message_fields.h"
#include "tessera/model/text/internal/tool_calls.h"
#include "tessera/tests/fakes/tokenizer_metadata.h"

namespace tessera {
namespace {

JsonValue Json(absl::string_view text) {
  auto json = JsonValue::Parse(text);
  EXPECT_TRUE(json.ok()) << json.status();
  return *std::move(json);
}

ChatTemplate FromText(const std::string& source) {
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String(source));
  auto chat = ChatTemplate::FromSource(metadata.ChatFacts());
  EXPECT_TRUE(chat.ok()) << chat.status();
  return *std::move(chat);
}

// What becomes of messages that are a list in JSON: the text, or the words of the error.
std::string Written(const ChatTemplate& chat, absl::string_view dialogue, bool continues = false) {
  const JsonValue json = Json(dialogue);
  std::vector<ChatMessage> messages;
  for (int64_t i = 0; i < json.size(); ++i) messages.push_back(*ChatMessage::FromJson(json[i]));
  const auto text = chat.Render({.messages = messages, .add_generation_prompt = false, .continue_last = continues});
  return text.ok() ? *text : std::string(text.status().message());
}

std::string Written(const std::string& source, absl::string_view dialogue, bool continues = false) {
  return Written(FromText(source), dialogue, continues);
}

// A dialogue whose last message calls a tool.
std::string Asks(absl::string_view arguments, absl::string_view content = R"("content": null, )") {
  return absl::StrCat(R"([{"role": "user", "content": "Q"}, {"role": "assistant", )", content,
                      R"("tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": )", arguments, "}}]}]");
}

const std::string kEach = "{% for m in messages %}", kEnd = "{% endfor %}";
const std::string kCalls = "{% for c in m.tool_calls %}<{{ c.function.name }} {{ c.function.arguments|tojson }}>{% endfor %}";
const std::string kToJson = kEach + "{{ m.content }}" + kCalls + kEnd;

TEST(ToolCalls, HeaderExample) {
  int64_t values_left = 100;
  const auto call = GivenCall::Of(Json(R"({"function": {"name": "f", "arguments": "{\"a\": 1}"}})"), values_left);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->parsed.mapping().Find("function")->mapping().Find("arguments")->mapping().Find("a")->integer(), 1);
  ASSERT_TRUE(call->as_sent.has_value());
  EXPECT_EQ(call->as_sent->mapping().Find("function")->mapping().Find("arguments")->text().bytes(), "{\"a\": 1}");
  EXPECT_LT(values_left, 100);
}

TEST(ToolCalls, ValuesInAllArgumentsTogetherAreBounded) {
  int64_t values_left = 5;
  const JsonValue call = Json(R"({"name": "f", "arguments": "{\"a\": 1}"})");
  EXPECT_TRUE(GivenCall::Of(call, values_left).ok());
  absl::Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) status = GivenCall::Of(call, values_left).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(MessageFields, HeaderExample) {
  const JsonValue message = Json(R"({"role": "user", "nam": 1, "content": [{"type": "text", "text": "a"}]})");
  EXPECT_FALSE(IsKnownField(FieldHolder::kMessage, "nam"));
  EXPECT_TRUE(absl::StrContains(UnreadField(message, FieldHolder::kMessage, "nam").message(), "did you mean \"name\"?"));
  const JsonValue content = *message.Value("content");
  ASSERT_TRUE(HoldsParts(content));
  EXPECT_EQ(*TextOfPart(content[0]), "a");
}

TEST(LastMessage, HeaderExample) {
  const std::string word = WordNotIn("TESSERA-ENDx, tessera-end");
  EXPECT_EQ(word, "tessera-endxx");
  const auto begun = UpToWord({{"[a]", true}, {"4 is " + EndMark(word), false}, {"[/a]", true}}, word, "4 is ");
  ASSERT_TRUE(begun.has_value() && begun->size() == 2);
  EXPECT_EQ((*begun)[1].text, "4 is ");
  EXPECT_EQ((*UpToWord({{"4 is " + word, false}}, word, "4 is "))[0].text, "4 is") << "the blanks after the word were trimmed";
  EXPECT_FALSE(UpToWord({{"4 is", false}}, word, "4 is").has_value());
}

TEST(ClientMessages, ArgumentsThatAreJsonTextAreWrittenOnce) {
  EXPECT_EQ(Written(kToJson, Asks(R"("{\"city\": \"Paris\"}")")), "Q<f {\"city\": \"Paris\"}>");
  EXPECT_EQ(Written(kToJson, Asks(R"({"city": "Paris"})")), "Q<f {\"city\": \"Paris\"}>");
  EXPECT_EQ(Written(kToJson, Asks(R"(" ")")), "Q<f {}>") << "a call without arguments";
  const std::string items = kEach + "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% for k, v in "
                            "c.function.arguments.items() %}{{ k }}={{ v }}{% endfor %}{% endfor %}" + kEnd;
  EXPECT_EQ(Written(items, Asks(R"("{\"a\": 1, \"b\": [true]}")")), "Qfa=1b=[True]");
  const std::string text = kEach + "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name + c.function.arguments }}{% endfor %}" +
                           kEnd;
  EXPECT_EQ(Written(text, Asks(R"("{\"a\":  1}")")), "Qf{\"a\":  1}") << "a template that takes the text gets the text";
  EXPECT_EQ(Written(kEach + "{{ m.content }}{{ m.function_call.name if m.function_call }}"
                            "{{ m.function_call.arguments|tojson if m.function_call }}" + kEnd,
                    R"([{"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\": 1}"}}])"),
            "f{\"a\": 1}");
}

TEST(ClientMessages, ArgumentsThatAreNoJsonObjectAreRefusedByName) {
  const std::string place = "JSON: [1].tool_calls[0].function.arguments: found ";
  for (const char* bad : {R"("{\"a\": ")", R"("[1]")", R"("5")", R"("{\"a\": 1, \"a\": 2}")", R"("{\"a\": 99999999999999999999}")"}) {
    const std::string said = Written(kToJson, Asks(bad));
    EXPECT_TRUE(absl::StartsWith(said, place) && absl::StrContains(said, "expected an object as JSON text")) << said;
  }
  EXPECT_TRUE(absl::StrContains(Written(kToJson, R"([{"role": "assistant", "tool_calls": "f"}])"), "[0].tool_calls: found "));
  EXPECT_TRUE(absl::StrContains(Written(kToJson, R"([{"role": "assistant", "tool_calls": ["f"]}])"), "[0].tool_calls[0]: found a string"));
}

TEST(ClientMessages, ANullContentBesideCallsIsNoContent) {
  for (const char* content : {R"("content": null, )", R"("content": "", )", ""}) {
    EXPECT_EQ(Written(kToJson, Asks("{}", content)), "Q<f {}>") << content;
    EXPECT_EQ(Written(kEach + "{{ m.content + '.' }}" + kCalls + kEnd, Asks("{}", content)), "Q..<f {}>") << content;
    EXPECT_EQ(Written(kEach + "{{ m.content|trim ~ '.' }}" + kCalls + kEnd, Asks("{}", content)), "Q..<f {}>") << content;
    EXPECT_EQ(Written(kEach + "{% if m.content is none %}" + kCalls + "{% else %}{{ m.content }}{% endif %}" + kEnd, Asks("{}", content)),
              "Q<f {}>") << content;
  }
  EXPECT_EQ(Written(kToJson, R"([{"role": "user", "content": null}])"), "JSON: [0].content: found null, expected a text, or a list of "
                                                                       "parts");
  EXPECT_TRUE(absl::StrContains(Written(kToJson, R"([{"role": "user"}])"), "[0]: found no content"));
}

TEST(ClientMessages, ANullAndAnEmptyContentBesideCallsReachATemplateThatTakesOneOfThem) {
  constexpr char kBoth[] = R"([{"role": "user", "content": "Q"},
      {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
      {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "g", "arguments": {}}}]}])";
  EXPECT_EQ(Written(kEach + "{{ m.content.split('-')[-1] }}" + kCalls + kEnd, kBoth), "Q<f {}><g {}>") << "texts alone have a split";
  EXPECT_EQ(Written(kEach + "{% if m.content is none %}" + kCalls + "{% elif m.content %}{{ m.content }}{% endif %}" + kEnd, kBoth),
            "Q<f {}><g {}>") << "beside a text, though an empty one, it reads no calls";
}

TEST(ClientMessages, BlankPartsReachATemplateInItsOwnForm) {
  for (const char* content : {"[]", R"([{"type": "text", "text": ""}])", R"([{"type": "text", "text": " "}])"}) {
    const auto of_role = [&](const char* role) { return absl::StrCat("[{\"role\": \"", role, "\", \"content\": ", content, "}]"); };
    const std::string blank = absl::StrContains(content, "\" \"") ? " " : "";
    for (const char* role : {"user", "tool", "system"}) {
      EXPECT_EQ(Written(kEach + "[{{ m.content }}]" + kEnd, of_role(role)), absl::StrCat("[", blank, "]")) << "a template of texts";
      EXPECT_EQ(Written(kEach + "{{ m.content + '.' }}" + kEnd, of_role(role)), blank + ".") << "one that fails with a list";
      EXPECT_EQ(Written(kEach + "{% for p in m.content %}({{ p.text + p.type }}){% endfor %}" + kEnd, of_role(role)),
                absl::StrCat("(", blank, "text)")) << "a template of parts";
    }
    EXPECT_EQ(Written(kEach + "{{ m.content | length }}" + kEnd, of_role("user")), "1") << "a blank content may be left out";
    EXPECT_EQ(Written(kToJson, absl::StrCat(R"([{"role": "assistant", "content": )", content,
                                            R"(, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}])")),
              blank + "<f {}>");
  }
}

TEST(ClientMessages, ArgumentsOfNullAreNone) { EXPECT_EQ(Written(kToJson, Asks("null")), "Q<f {}>"); }

// A second passes between two looks at this clock.
class HastyClock : public Clock {
 public:
  int64_t NowNanos() const override { return ++looks_ * 1'000'000'000; }
  int64_t looks() const { return looks_; }

 private:
  mutable int64_t looks_ = 0;
};

TEST(ClientMessages, TheSearchForContentsThatAreLeftOutEndsAtALimit) {
  const HastyClock clock;
  std::vector<ChatMessage> messages;
  for (int i = 0; i < 2000; ++i) messages.push_back({"user", absl::StrCat("message ", i)});
  const ChatTemplate chat = FromText("{% for m in messages %}{{ m.content | length }}{% endfor %}");
  const auto text = chat.Render({.messages = messages, .limits = {.clock = &clock}});
  EXPECT_TRUE(absl::IsResourceExhausted(text.status())) << text.status();
  EXPECT_LT(clock.looks(), 100);
}

TEST(ClientMessages, FieldsOfThePublicSchemaDisturbNoTemplate) {
  constexpr char kAll[] = R"([{"role": "user", "content": "Q", "name": "Ada"},
      {"role": "assistant", "content": "A", "refusal": null, "annotations": [], "audio": null, "function_call": null, "tool_calls": null,
       "reasoning_content": "R", "name": "bot"}, {"role": "assistant", "content": "B", "tool_calls": [], "refusal": "no"},
      {"role": "tool", "tool_call_id": "c1", "content": "T"}])";
  EXPECT_EQ(Written(kEach + "{{ m.content }}" + kEnd, kAll), "QABT");
  EXPECT_EQ(Written(kEach + "{{ m.content }}{% if 'tool_calls' in m %}{{ m.tool_calls|length }}!{% endif %}" + kEnd, kAll), "QABT")
      << "nulls and empty lists of calls are none";
  EXPECT_EQ(Written(kEach + "{{ m.name }}{{ m.content }}{{ m.reasoning_content }}{{ m.tool_call_id }}" + kEnd, kAll), "AdaQbotARBTc1");
  EXPECT_EQ(Written(FromText("{% for m in messages %}{{ m.content }}{% endfor %}"), kAll), Written(*ChatTemplate::ByName("none"), kAll));
}

TEST(ClientMessages, AnUnknownFieldIsRefusedWithTheNearestKnownOne) {
  EXPECT_EQ(Written(kToJson, R"([{"role": "tool", "content": "T", "tool_call_idd": "c1"}])"),
            "JSON: [0]: found \"tool_call_idd\", expected fields that the chat template reads; did you mean \"tool_call_id\"?");
  EXPECT_EQ(Written(kToJson, R"([{"role": "user", "content": "Q", "colour": 1}])"),
            "JSON: [0]: found \"colour\", expected fields that the chat template reads");
  EXPECT_EQ(Written(kToJson, R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "argumants": "{}"}}]}])"),
            "JSON: [0].tool_calls[0].function: found \"argumants\", expected fields that the chat template reads; did you mean "
            "\"arguments\"?");
  EXPECT_TRUE(absl::StrContains(Written(kToJson, R"([{"role": "assistant", "content": "A", "audio": {"id": "x"}}])"), "found \"audio\""))
      << "only text is read";
}

TEST(ClientMessages, DeveloperIsSystemWhereATemplateHasNoSuchRole) {
  constexpr char kDeveloper[] = R"([{"role": "developer", "content": [{"type": "text", "text": "D"}]}, {"role": "user", "content": "Q"}])";
  EXPECT_EQ(Written(kEach + "[{{ m.role }}]{{ m.content }}" + kEnd, kDeveloper), "[system]D[user]Q");
  EXPECT_EQ(Written(kEach + "[{{ m.role }}]{{ m.content if m.role in ['user', 'developer'] }}" + kEnd, kDeveloper), "[developer]D[user]Q");
  EXPECT_EQ(Written(*ChatTemplate::ByName("chatml"), kDeveloper), "<|im_start|>system\nD<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n");
}

TEST(ClientMessages, ATemplatesOwnRefusalIsPassedOnWithItsWords) {
  constexpr char kParts[] = R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])";
  const std::string words(500, 'w');
  const std::string refuses = kEach + "{{ m.content + '' }}" + kEnd + "{{ raise_exception('two\\nlines " + words + "') }}";
  EXPECT_TRUE(absl::EndsWith(Written(refuses, kParts), absl::StrCat("the template refuses the messages: two\nlines ", words)))
      << "though the template takes no parts: " << Written(refuses, kParts);
  EXPECT_TRUE(absl::EndsWith(Written(kEach + "{{ raise_exception('no parts') if m.content is not string }}{{ m.content }}" + kEnd, kParts),
                             "a\nb")) << "a template that refuses parts gets the joined text";
}

TEST(ClientMessages, ALastMessageIsContinuedUpToTheEndOfItsContent) {
  const std::string chat = kEach + "<{{ m.role }}>{{ m.content }}</s>" + kEnd + "{{ '<assistant>' if add_generation_prompt }}";
  const std::string trims = kEach + "<{{ m.role }}>{{ m.content|trim }} </s>" + kEnd;
  const auto last = [](absl::string_view content) {
    return absl::StrCat(R"([{"role": "user", "content": "Q"}, {"role": "assistant", "content": )", content, "}]");
  };
  EXPECT_EQ(Written(chat, last(R"("The capital is ")"), true), "<user>Q</s><assistant>The capital is ");
  EXPECT_EQ(Written(trims, last(R"("The capital is ")"), true), "<user>Q </s><assistant>The capital is");
  EXPECT_EQ(Written(chat, last(R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])"), true), "<user>Q</s><assistant>a\nb");
  EXPECT_EQ(Written(chat, last(R"("Tessera-endx")"), true), "<user>Q</s><assistant>Tessera-endx");
  EXPECT_EQ(Written(chat, last("null"), true), "<user>Q</s><assistant>");
  EXPECT_EQ(Written(*ChatTemplate::ByName("chatml"), last(R"("is ")"), true), "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\nis ");
  EXPECT_EQ(Written(*ChatTemplate::ByName("gemma"), last(R"("is ")"), true),
            "<start_of_turn>user\nQ<end_of_turn>\n<start_of_turn>model\nis");
  EXPECT_TRUE(absl::StrContains(Written(kToJson, Asks("{}", R"("content": "A", )"), true), "found calls in a message to continue"));
  EXPECT_TRUE(absl::StrContains(Written(chat, R"([{"role": "user", "content": "Q"}])", true), "expected a last message of role"));
  const std::string reverses = kEach + "{{ m.content|reverse }}" + kEnd;
  EXPECT_TRUE(absl::StrContains(Written(reverses, last(R"("abc")"), true), "expected one that it writes as"));
}

// Llama 3's templates do that: tools of another name come first.
TEST(ClientMessages, ToolsThatATemplateAlsoAssignsAreRead) {
  EXPECT_TRUE(FromText("{% if custom is defined %}{% set tools = custom %}{% endif %}{{ tools }}").Reads("tools"));
  EXPECT_FALSE(FromText("{% set tools = custom %}{{ tools }}").Reads("tools"));
  EXPECT_FALSE(FromText("{% if x %}{% set tools = 1 %}{% elif y %}{% set tools = 2 %}{% else %}{% set tools = 3 %}{% endif %}{{ tools }}")
                   .Reads("tools"));
}

TEST(ClientMessages, ATextWhereATemplateTakesABooleanIsRefused) {
  const ChatTemplate chat = FromText("{{ messages[0].content if enable_thinking }}{{ reasoning_effort }}{{ skip }}");
  EXPECT_EQ(chat.CheckArguments(Json(R"({"enable_thinking": "false"})")).message(),
            "JSON: enable_thinking: found the text \"false\", expected the boolean false, without quotes");
  EXPECT_EQ(chat.CheckArguments(Json(R"({"enable_thinking": "off"})")).message(),
            "JSON: enable_thinking: found the text \"off\", expected true or false");
  EXPECT_FALSE(chat.CheckArguments(Json(R"({"enable_thinking": 0})")).ok());
  EXPECT_FALSE(chat.CheckArguments(Json(R"({"skip": "True"})")).ok());
  EXPECT_TRUE(chat.CheckArguments(Json(R"({"enable_thinking": false, "reasoning_effort": "high", "skip": 1})")).ok());
}

}  // namespace
}  // namespace tessera
