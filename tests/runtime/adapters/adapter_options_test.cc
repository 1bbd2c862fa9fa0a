#include "tessera/runtime/adapters/adapter_options.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/named_options.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

TEST(AdapterOptions, HeaderExample) {
  const auto run = []() -> absl::Status {
    AdapterOptions options = {.use_adapter = "pirate@0.5", .lora_mode = LoraMode::kInput};
    ASSIGN_OR_RETURN(options.adapter, ParseAdapterList("pirate:lora/pirate,plain:plain.gguf:0.5"));
    EXPECT_EQ(options.adapter[1].scale, 0.5f);
    return CheckAdapterOptions(options);
  };
  Must(run());
}

TEST(AdapterOptions, AListHasNamesPathsAndScales) {
  EXPECT_EQ(Must(ParseAdapterList("")), std::vector<AdapterSource>());
  const std::vector<AdapterSource> expected = {{"a", "lora/a", 1}, {"b c", "b.gguf", 0.5f}, {"d", "x:y", 1}, {"e", "x:2", -1}};
  EXPECT_EQ(Must(ParseAdapterList("a:lora/a,b c:b.gguf:0.5,d:x:y,e:x:2:-1")), expected);
  const std::pair<const char*, const char*> cases[] = {
      {"lora/a", "adapter: found \"lora/a\", expected NAME:PATH or NAME:PATH:SCALE, with commas between: no path may have one"},
      {"a:x,,b:y", "adapter: found \"\", expected NAME:PATH"},
      {"a:one,two", "adapter: found \"two\", expected NAME:PATH"},
      {":x", "adapter: found \":x\", expected NAME:PATH or NAME:PATH:SCALE, with commas between"},
      {"a:", "adapter: found \"a:\", expected NAME:PATH"},
      {"a::2", "adapter: found \"a::2\", expected NAME:PATH"},
      {"a:x:nan", "adapter: found \"a:x:nan\", expected a scale that is a finite number"},
      {"a:x:1e99", "adapter: found \"a:x:1e99\", expected a scale that is a finite number"},
      {"none:x", "adapter: found the name \"none\", expected printable text other than none"},
      {"a\x01:x", "adapter: found the name \"a\\x01\", expected printable text other than none"},
      {"a:x,b:y,a:z", "adapter: found the name \"a\" twice, expected a name for each"},
  };
  for (const auto& [list, expected_error] : cases) {
    const absl::Status status = ParseAdapterList(list).status();
    EXPECT_TRUE(absl::StartsWith(status.message(), expected_error)) << list << ": " << status;
    EXPECT_EQ(FieldOf(status), "adapter") << list;
  }
}

// A star stands before each option that a message names besides its own.
TEST(AdapterOptions, FieldsThatDoNotGoTogetherAreRefusedByName) {
  const AdapterSource a = {"a", "lora/a"}, b = {"b", "lora/b"};
  const std::pair<AdapterOptions, std::string> cases[] = {
      {{.use_adapter = "a"}, "use_adapter: found without *adapter, expected both"},
      {{.adapter = {a, b}}, "adapter: found 2 of them without *requests, expected one, or *use_adapter=NAME"},
      {{.adapter_folder = "lora"}, "adapter_folder: found without *requests, expected it, or *use_adapter=NAME"},
      {{.lora_mode = LoraMode::kMask}, "lora_mode: found without *adapter, expected both"},
      {{.adapter_memory = 1}, "adapter_memory: found without *adapter, expected both"},
      {{.adapter_folder = "lora", .requests = true},
       "adapter_folder: found without *adapter_memory, expected both: requests name as many as they like"},
      {{.lora_mode = LoraMode::kInput, .adapter_memory = 1, .adapter_folder = "lora", .requests = true},
       "adapter_folder: found with *lora_mode=input, expected graph: ranks that requests bring are not known before"},
      {{.adapter = {a}, .adapter_memory = 1, .device = true}, "adapter_memory: found with *device, expected one of them"},
      {{.adapter = {a}, .requests = true, .parallel = 4, .device = true},
       "parallel: found 4 with *adapter and *device, expected 1: a phone's graph has one adapter at a time"},
      {{.parallel = 0}, "parallel: found 0, expected 1 or more"},
      {{.adapter = {a, a}, .requests = true}, "adapter: found the name \"a\" twice"},
      {{.adapter = {{"none", "lora/a"}}}, "adapter: found the name \"none\""},
      {{.adapter = {{"a", ""}}}, "adapter: found one without a name or a path"},
      {{.adapter = {{"a", "lora/a", std::numeric_limits<float>::infinity()}}}, "adapter: found the scale inf"}};
  for (const auto& [options, said] : cases) {
    const absl::Status status = CheckAdapterOptions(options);
    const absl::Status starred = WithOptionNames(status, [](absl::string_view option) { return absl::StrCat("*", option); });
    EXPECT_TRUE(absl::StartsWith(starred.message(), said)) << said << "\n" << starred;
    EXPECT_EQ(FieldOf(status), said.substr(0, said.find(':'))) << said;
  }
}

TEST(AdapterOptions, FieldsThatGoTogetherAreTaken) {
  const AdapterSource a = {"a", "lora/a"}, b = {"b", "lora/b"};
  const std::vector<AdapterOptions> right = {
      {}, {.requests = true, .parallel = 8}, {.adapter = {a}}, {.adapter = {a, b}, .requests = true},
      {.adapter = {a, b}, .use_adapter = "none"}, {.adapter = {a}, .requests = true, .device = true},
      {.adapter_memory = 1, .adapter_folder = "lora", .requests = true}, {.adapter = {a}, .adapter_memory = 1}};
  for (const AdapterOptions& options : right) Must(CheckAdapterOptions(options));
}

}  // namespace
}  // namespace tessera
