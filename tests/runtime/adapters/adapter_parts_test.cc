// Names of adapters as requests and flags write them, with scales and several at once.
#include "tessera/runtime/adapters/adapter_parts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const AdapterNames kNames = {.listed = {"style", "facts", "at@home", "at"}};

absl::StatusOr<std::optional<AdapterParts>> Of(const std::string& adapter, const AdapterNames& names = kNames) {
  return AdapterPartsOf(Must(JsonValue::Parse(absl::StrCat("{\"adapter\": ", adapter, "}"), "line 1")), names);
}

TEST(AdapterParts, HeaderExample) {
  const AdapterNames names = {.listed = {"style", "facts"}};
  const JsonValue body = Must(JsonValue::Parse(R"({"adapter": "style,facts@0.5"})"));
  const auto run = [&]() -> absl::StatusOr<AdapterParts> {
    ASSIGN_OR_RETURN(const std::optional<AdapterParts> asked, AdapterPartsOf(body, names));
    return asked.value_or(AdapterParts());
  };
  EXPECT_EQ(Must(run()), (AdapterParts{{"style", 1}, {"facts", 0.5f}}));
}

TEST(AdapterParts, ScalesAndSeveralNamesAreRead) {
  const std::pair<const char*, AdapterParts> cases[] = {
      {"null", {}},
      {R"("")", {}},
      {R"("style")", {{"style", 1}}},
      {R"("style@0.5")", {{"style", 0.5f}}},
      {R"("style@-2e-1")", {{"style", -0.2f}}},
      {R"("style@0")", {{"style", 0}}},
      {R"("facts@2,style")", {{"facts", 2}, {"style", 1}}},
      {R"(["facts@2", "style"])", {{"facts", 2}, {"style", 1}}},
      {R"(["style"])", {{"style", 1}}},
      {R"("at@home")", {{"at@home", 1}}},            // A name that is known as it stands.
      {R"("at@home@0.5")", {{"at@home", 0.5f}}},
      {R"("at@3")", {{"at", 3}}},
  };
  for (const auto& [adapter, expected] : cases) EXPECT_EQ(Must(Of(adapter)), expected) << adapter;
  EXPECT_EQ(Must(AdapterPartsOf(Must(JsonValue::Parse("{}")), kNames)), std::nullopt);
  EXPECT_EQ(AdapterPartsName({{"a", 1}, {"b", 0.5f}}), "a,b@0.5");
}

TEST(AdapterParts, AWrongAdapterIsRefusedWithTheFoundValue) {
  const std::string known = "expected one of style, facts, at@home, at, or null for none";
  const std::string number = "expected NAME@SCALE with a finite number that 32 bits hold";
  std::string many = "[\"style\"";
  for (int i = 0; i < kMostAdapterParts; ++i) many += ", \"facts\"";
  const std::pair<std::string, std::string> cases[] = {
      {R"("nobody")", "found \"nobody\", " + known},
      {R"("nobody@0.5")", "found \"nobody\", " + known},
      {R"("styel")", "found \"styel\", " + known + "; did you mean \"style\"?"},
      {R"("style,")", "found \"\", " + known},
      {R"(["style", ""])", "found \"\", " + known},
      {R"(["style,facts"])", "found \"style,facts\", " + known},
      {R"("style@")", "found \"style@\", " + number},
      {R"("style@half")", "found \"style@half\", " + number},
      {R"("style@ 1")", "found \"style@ 1\", " + number},
      {R"("style@1 ")", "found \"style@1 \", " + number},
      {R"("style@nan")", "found \"style@nan\", " + number},
      {R"("style@inf")", "found \"style@inf\", " + number},
      {R"("style@1e39")", "found \"style@1e39\", " + number},
      {R"("style@1e-60")", "found \"style@1e-60\", " + number},
      {R"("style@1\u0007")", "found \"style@1\\x07\", " + number},
      {R"("style,facts,style@2")", "found \"style\" twice, expected each once: scales of one adapter add up to one scale"},
      {"[]", "found an empty list, expected one name or more, or null for none"},
      {"7", "found an integer, expected a name, a list of names, or null for none"},
      {many + "]", "found 17 adapters in one, expected at most 16"},
  };
  for (const auto& [adapter, expected] : cases) {
    const absl::Status status = Of(adapter).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << adapter;
    EXPECT_TRUE(absl::EndsWith(status.message(), "adapter: " + expected)) << adapter << ": " << status;
  }
  EXPECT_FALSE(Of(R"(["style", 7])").ok());
  EXPECT_TRUE(absl::StrContains(Of(R"("a")", {}).status().message(), "expected none: no adapter is loaded"));
}

TEST(AdapterParts, NamesBeyondTheListAreAskedFor) {
  AdapterNames names = {.listed = {"style"}};
  std::vector<std::string> asked;
  names.why_not = [&](const std::string& name) {
    asked.push_back(name);
    return name == "new" || name == "new@2" ? "" : "a file in lora/";
  };
  EXPECT_EQ(Must(Of(R"("style")", names)), (AdapterParts{{"style", 1}}));
  EXPECT_TRUE(asked.empty()) << "a listed name wins";
  EXPECT_EQ(Must(Of(R"("new@2,new@3")", names)), (AdapterParts{{"new@2", 1}, {"new", 3}}));
  EXPECT_TRUE(absl::EndsWith(Of(R"("old@3")", names).status().message(),
                             "adapter: found \"old\", expected one of style, or a file in lora/, or null for none"));
}

}  // namespace
}  // namespace tessera
