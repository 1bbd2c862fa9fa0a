// Requests are bounded by their context and by the plan of a memory budget.
#include "tessera/runtime/chat/request_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kBudget = int64_t{4} << 30;

const PackedModel& Packed() {
  static const PackedModel packed(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf");
  return packed;
}

EngineOptions Budgeted(int context) {
  EngineOptions options = {.model_path = Packed().path(), .compute = {.threads = 1}, .cache = {.context = context}};
  options.streaming.memory_budget = kBudget;
  return options;
}

TEST(RequestLimits, HeaderExample) {
  EngineOptions engine_options = Budgeted(64);
  const auto read = [&](const std::string& line) -> absl::StatusOr<Request> {
    PlanRequests({.texts = 4}, engine_options);
    ASSIGN_OR_RETURN(const auto engine, Engine::Open(engine_options));
    const RequestLimits limits = RequestLimits::Of(*engine);
    return Request::Parse(line, "line 1", limits);
  };
  EXPECT_TRUE(read(R"({"id": 1, "text": "Hello"})").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(read(R"({"id": 1, "text": ")" + std::string(1 << 20, 'a') + "\"}").status()));
}

TEST(RequestLimits, WithoutABudgetFollowFromTheContextAlone) {
  const auto engine = Must(Engine::Open({.model_path = Packed().gguf(), .cache = {.context = 10}}));
  const RequestLimits limits = RequestLimits::Of(*engine);
  EXPECT_EQ(limits.text, 10 * engine->tokenizer().LongestPiece());
  EXPECT_EQ(limits.line, 6 * limits.text + (1 << 20)) << "each byte may be written as an escape";
  EXPECT_TRUE(limits.CheckText(limits.text).ok());
  const absl::Status status = limits.CheckText(limits.text + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(LimitOf(status), "context");
  EXPECT_TRUE(absl::StrContains(status.message(), "a context of 10 tokens")) << status;
}

TEST(RequestLimits, OfTheSameContextAreUnchangedByABudgetWithEnoughRoom) {
  EngineOptions options = Budgeted(64);
  const int64_t without = RequestLimits::Of(*Must(Engine::Open(options))).text;
  PlanRequests({}, options);
  const RequestLimits limits = RequestLimits::Of(*Must(Engine::Open(options)));
  EXPECT_EQ(limits.text, without);
  EXPECT_EQ(limits.limited_by, "context");
  EXPECT_LT(limits.values, 5000);
  EXPECT_LT(limits.template_memory, 2 << 20);
}

// The model's longest piece has more than the 8 bytes that a budget has room for, for each token of the context.
TEST(RequestLimits, UnderABudgetNameTheBudgetWhereAContextWouldAllowMore) {
  EngineOptions options = Budgeted(100'000);
  options.streaming.memory_budget = int64_t{512} << 20;
  PlanRequests({}, options);
  const auto engine = Must(Engine::Open(options));
  ASSERT_GT(engine->tokenizer().LongestPiece(), 8);
  const RequestLimits limits = RequestLimits::Of(*engine);
  EXPECT_EQ(limits.text, 800'000);
  EXPECT_EQ(LimitOf(limits.CheckText(limits.text + 1)), "memory_budget");
}

TEST(RequestLimits, OfTextsCutIntoWindowsFollowTheBudgetAlone) {
  EngineOptions options = Budgeted(64);
  EXPECT_EQ(RequestLimits::OfCutTexts(*Must(Engine::Open(options))).text, RequestLimits::kMostLine);
  PlanRequests({}, options);
  const auto engine = Must(Engine::Open(options));
  const RequestLimits limits = RequestLimits::OfCutTexts(*engine);
  EXPECT_EQ(limits.text, kBudget / 1024);
  EXPECT_GT(limits.text, RequestLimits::Of(*engine).text);
  EXPECT_EQ(LimitOf(limits.CheckText(limits.text + 1)), "memory_budget");
}

TEST(RequestLimits, AreInThePlanOfTheBudget) {
  EngineOptions options = Budgeted(64);
  const BudgetPlan without = Must(Must(Engine::Open(options))->planner().PlanBudget(kBudget));
  EXPECT_EQ(without.requests, 0);
  PlanRequests({.texts = 8}, options);
  const BudgetPlan with = Must(Must(Engine::Open(options))->planner().PlanBudget(kBudget));
  EXPECT_EQ(with.requests, options.workload.request_bytes(64));
  EXPECT_GT(with.requests, 4 << 20) << "a text, its line, its document, the template's memory, and lines that wait";
  EXPECT_GE(with.least - without.least, with.requests - (1 << 20));
}

TEST(RequestLimits, OfMoreTextsTakeMore) {
  const auto planned = [](const RequestPlan& plan) {
    EngineOptions options = Budgeted(64);
    PlanRequests(plan, options);
    return options.workload.request_bytes(1000);
  };
  EXPECT_GT(planned({.texts = 2}), planned({.texts = 1}));
  EXPECT_EQ(planned({.texts = 9}) - planned({.texts = 8}), planned({.texts = 8}) - planned({.texts = 7}));
  EXPECT_EQ(planned({.answer_of_token = 100}) - planned({}), 3 * 100 * 1000);
}

TEST(RequestLimits, AreNotPlannedWithoutABudget) {
  EngineOptions options = {.model_path = Packed().gguf()};
  PlanRequests({}, options);
  PlanPrompt(1000, options);
  EXPECT_EQ(options.workload.request_bytes, nullptr);
}

TEST(RequestLimits, APromptOfFewBytesTakesLittleOfTheBudget) {
  EngineOptions options = Budgeted(64);
  PlanPrompt(1000, options);
  EXPECT_LT(options.workload.request_bytes(64), 40'000);
  PlanPrompt(int64_t{1} << 40, options);
  EXPECT_LT(options.workload.request_bytes(64), 200 << 20) << "a prompt that cannot fit is refused";
}

class BoundedRequest : public testing::Test {
 protected:
  absl::Status Read(const std::string& members) const {
    const absl::StatusOr<Request> request = Request::Parse("{\"id\": 1, " + members + "}", "line 1", RequestLimits::Of(*engine_));
    return request.ok() ? ReadTextRequest(*request, *engine_, {.chat_template = "chatml"}).status() : request.status();
  }
  const std::unique_ptr<Engine> engine_ = [] {
    EngineOptions options = Budgeted(64);
    PlanRequests({}, options);
    return Must(Engine::Open(options));
  }();
};

TEST_F(BoundedRequest, IsRefusedByItsTextByItsTokensAndByItsMessages) {
  EXPECT_TRUE(Read(R"("text": "Hello")").ok());
  const std::string long_text(RequestLimits::Of(*engine_).text + 1, 'a');
  for (const std::string& members :
       {absl::StrCat("\"text\": \"", long_text, "\""), absl::StrCat(R"("messages": [{"role": "user", "content": ")", long_text, "\"}]"),
        std::string("\"text\": \"") + std::string(65, '7') + "\""}) {
    const absl::Status status = Read(members);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(LimitOf(status), "context") << status;
  }
  std::string tokens = "1";
  for (int i = 0; i < 64; ++i) tokens += ",1";
  EXPECT_EQ(LimitOf(Read("\"tokens\": [" + tokens + "]")), "context");
}

TEST_F(BoundedRequest, IsRefusedByItsValuesAndItsStopTexts) {
  std::string many = "1";
  for (int i = 0; i < 5000; ++i) many += ",1";
  EXPECT_TRUE(absl::IsResourceExhausted(Read("\"tokens\": [" + many + "]")));
  const absl::Status stops = Read(R"("text": "Hello", "stop": ")" + std::string(RequestLimits::kMostStopBytes + 1, 's') + "\"");
  EXPECT_TRUE(absl::StrContains(stops.message(), "stop: found 1 texts of 16385 bytes, expected at most 64, of 16384")) << stops;
}

TEST_F(BoundedRequest, HasAnIdThatMayBeRepeatedInAnAnswer) {
  const auto parse = [](size_t bytes) { return Request::Parse("{\"id\": \"" + std::string(bytes, 'i') + "\"}", "line 1"); };
  EXPECT_TRUE(parse(RequestLimits::kMostId).ok());
  EXPECT_TRUE(absl::StrContains(parse(RequestLimits::kMostId + 1).status().message(), "id: found 4097 bytes, expected at most 4096"));
}

TEST_F(BoundedRequest, KeepsItsIdWithoutItsBody) {
  for (const std::string id : {"\"a\\u0000b\"", "5", "18446744073709551615"}) {
    Request request = Must(Request::Parse("{\"id\": " + id + ", \"text\": \"Hello\"}", "line 1"));
    const std::string before = ErrorAnswer(request, absl::InternalError("broken"));
    request.ForgetBody();
    EXPECT_EQ(ErrorAnswer(request, absl::InternalError("broken")), before);
    EXPECT_FALSE(request.body().Has("text"));
  }
}

}  // namespace
}  // namespace tessera
