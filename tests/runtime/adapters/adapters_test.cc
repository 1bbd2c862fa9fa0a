#include "tessera/runtime/adapters/adapters.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

// Adapters of the tiny llama: of queries and values, and of all matrices.
std::string Some(const std::string& name) { return absl::StrCat(name, ":", GoldenPath("lora/llama-qv")); }
std::string All(const std::string& name) { return absl::StrCat(name, ":", GoldenPath("lora/llama-all.gguf")); }

class AdaptersByName : public testing::Test {
 protected:
  absl::StatusOr<Adapters> Read(const std::string& list) {
    asked_.adapter = Must(ParseAdapterList(list));
    EngineOptions options = {.model_path = GoldenPath("tiny/llama.gguf")};
    return Adapters::Create(asked_, options);
  }

  AdapterOptions asked_;
};

TEST_F(AdaptersByName, HeaderExample) {
  EngineOptions options = {.model_path = GoldenPath("tiny/llama.gguf"), .compute = {.threads = 1}};
  const Request request = Must(Request::Parse(R"({"id": 1, "text": "a", "adapter": "pirate"})", "line 1"));
  const auto run = [&]() -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const Adapters adapters,
                     Adapters::Create({.adapter = {{"pirate", GoldenPath("lora/llama-qv")}}, .requests = true}, options));
    ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
    ASSIGN_OR_RETURN(Answerer answerer, Answerer::Create(*engine, {}));
    ASSIGN_OR_RETURN(const int number, adapters.OfRequest(request.body()));
    ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(number));
    RETURN_IF_ERROR(answerer.UseAdapter(adapter.get()));
    EXPECT_EQ(options.workload.adapter_bytes, adapter->bytes());
    return number == adapters.chosen() && answerer.session().adapter() == adapter.get();
  };
  EXPECT_TRUE(Must(run()));
}

TEST_F(AdaptersByName, ATextThatNamesNoneHasTheOnlyOneOrTheOneThatIsUsed) {
  const JsonValue nothing = Must(JsonValue::Parse("{}")), none = Must(JsonValue::Parse(R"({"adapter": null})"));
  const Adapters no_adapters = Must(Read("")), one = Must(Read(Some("a")));
  EXPECT_EQ(no_adapters.chosen(), Adapters::kNone);
  EXPECT_EQ(Must(no_adapters.Lease(Adapters::kNone)), nullptr);
  EXPECT_EQ(one.chosen(), 0);
  EXPECT_EQ(Must(one.OfRequest(nothing)), 0);
  EXPECT_EQ(Must(one.OfRequest(none)), Adapters::kNone);
  EXPECT_EQ(Read(absl::StrCat(Some("a"), ",", All("b"))).status().message(),
            "adapter: found 2 of them without requests, expected one, or use_adapter=NAME");
  asked_.requests = true;
  const Adapters two = Must(Read(absl::StrCat(Some("a"), ",", All("b"))));
  EXPECT_EQ(two.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(two.chosen(), Adapters::kNone);
  EXPECT_EQ(Must(two.Named(AdapterParts{{"b", 1}})), 1);
  EXPECT_NE(Must(two.Lease(0))->Sum(), Must(two.Lease(1))->Sum());
  EXPECT_EQ(two.OfRequest(Must(JsonValue::Parse(R"({"adapter": "c"})", "line 1"))).status().message(),
            "line 1: adapter: found \"c\", expected one of a, b, or null for none");
  asked_.use_adapter = "b";
  Adapters used = Must(Read(absl::StrCat(Some("a"), ",", All("b"))));
  EXPECT_EQ(used.chosen(), 1);
  const AdapterLease before = Must(used.Lease(1));
  const Adapters moved = std::move(used);
  EXPECT_EQ(Must(moved.Lease(1)), before) << "whoever has it can go on";
  asked_.use_adapter = "none";
  EXPECT_EQ(Must(Read(Some("a"))).chosen(), Adapters::kNone);
  asked_.use_adapter = "c";
  EXPECT_EQ(Read(Some("a")).status().message(), "use_adapter: found \"c\", expected one of a, or none");
  EXPECT_EQ(Read("").status().message(), "use_adapter: found without adapter, expected both");
}

TEST_F(AdaptersByName, AScaleMultipliesThatOfTheFile) {
  const Adapters whole = Must(Read(All("a"))), half = Must(Read(All("a") + ":0.5"));
  const AdapterLease of_whole = Must(whole.Lease(0)), of_half = Must(half.Lease(0));
  EXPECT_EQ(of_half->Layer(0)[0].scale, of_whole->Layer(0)[0].scale / 2);
  EXPECT_NE(of_half->Sum(), of_whole->Sum());
}

// Texts that come one after another share a session while they have one adapter.
TEST_F(AdaptersByName, ASessionGoesOnWhileItsAdapterIsTheSame) {
  asked_.requests = true;
  const Adapters adapters = Must(Read(absl::StrCat(Some("a"), ",", All("b"))));
  const auto engine = Must(Engine::Load({.model_path = GoldenPath("tiny/llama.gguf"), .compute = {.threads = 1}}));
  AdaptedSession adapted;
  Must(UseAdapter(*engine, adapters, 0, adapted));
  const Session* const first = adapted.session.get();
  EXPECT_EQ(first->adapter(), Must(adapters.Lease(0)).get());
  Must(adapted.session->Append(std::vector<TokenId>{1, 2}));
  Must(UseAdapter(*engine, adapters, 0, adapted));
  EXPECT_EQ(adapted.session.get(), first);
  Must(UseAdapter(*engine, adapters, Adapters::kNone, adapted));
  EXPECT_EQ(adapted.session->adapter(), nullptr);
  EXPECT_EQ(adapted.session->length(), 0);
  EXPECT_EQ(adapted.number, Adapters::kNone);
}

}  // namespace
}  // namespace tessera
