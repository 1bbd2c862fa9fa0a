// Adapters at a scale, and several as one: which are the same, what they take, and what cannot be composed.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::string Both() { return absl::StrCat("some:", GoldenPath("lora/llama-qv"), ",all:", GoldenPath("lora/llama-all.gguf")); }

class ComposedAdapters : public testing::Test {
 protected:
  ComposedAdapters() {
    asked_.requests = true;
    asked_.adapter = Must(ParseAdapterList(Both()));
  }
  absl::StatusOr<Adapters> Read(int64_t budget = 0) {
    options_ = {.model_path = GoldenPath("tiny/llama.gguf")};
    options_.streaming.memory_budget = budget;
    return Adapters::Create(asked_, options_);
  }
  static absl::StatusOr<int> Named(const Adapters& adapters, const std::string& adapter) {
    return adapters.OfRequest(Must(JsonValue::Parse(absl::StrCat(R"({"adapter": ")", adapter, "\"}"), "line 1")));
  }
  const Workload& workload() const { return options_.workload; }

  AdapterOptions asked_;

 private:
  EngineOptions options_;
};

TEST_F(ComposedAdapters, TheSameOneIsKeptForWhoeverAsks) {
  const Adapters adapters = Must(Read());
  const int number = Must(Named(adapters, "some,all@0.5"));
  const AdapterLease lease = Must(adapters.Lease(number));
  EXPECT_EQ(Must(Named(adapters, "some@1,all@0.50")), number);
  EXPECT_EQ(Must(adapters.Lease(number)), lease);
  EXPECT_NE(Must(Named(adapters, "all@0.5,some")), number);
  EXPECT_EQ(Must(Named(adapters, "all@1")), 1) << "the one that is listed";
  EXPECT_TRUE(absl::StartsWith(adapters.StatsLine(), "adapters: 3 by graph, ")) << adapters.StatsLine();
}

TEST_F(ComposedAdapters, WhatIsUsedCountsInTheWorkload) {
  const Adapters plain = Must(Read());
  const int64_t listed = workload().adapter_bytes;
  asked_.use_adapter = "some,all@0.5";
  const Adapters used = Must(Read(int64_t{1} << 30));
  EXPECT_EQ(workload().adapter_bytes, listed + Must(used.Lease(used.chosen()))->bytes());
  EXPECT_EQ(used.chosen_name(), "some,all@0.5");
  EXPECT_EQ(Must(Named(used, "some,all@0.5")), used.chosen());
  EXPECT_EQ(Named(used, "some@2").status().message(),
            "adapter: found \"some@2\" with memory_budget, expected adapter_memory=SIZE, too: room for what is composed");
  asked_.adapter_memory = 1 << 20;
  const Adapters bounded = Must(Read(int64_t{1} << 30));
  EXPECT_EQ(workload().adapter_bytes + workload().adapter_room, 1 << 20) << "all of it may be used";
  EXPECT_GT(Must(Named(bounded, "some@2")), 1);
}

TEST_F(ComposedAdapters, WhatCannotBeComposedIsRefusedByName) {
  asked_.lora_mode = LoraMode::kMask;
  EXPECT_EQ(Named(Must(Read()), "some@2").status().message(),
            "adapter: found \"some@2\" with lora_mode=mask, expected one adapter at its own scale: a mask has those of the list side by "
            "side, and no other");
  asked_.use_adapter = "some,all";
  EXPECT_EQ(Read().status().message(), "use_adapter: found \"some,all\" with lora_mode=mask, expected input or graph: a mask has the "
                                       "adapters of the list side by side, and no other");
  asked_.use_adapter = "none";
  asked_.lora_mode = LoraMode::kInput;
  const Adapters padded = Must(Read());
  EXPECT_EQ(Must(padded.Lease(Must(Named(padded, "all@0.5"))))->bytes(), Must(padded.Lease(1))->bytes()) << "padded alike";
  const absl::Status wide = padded.Lease(Must(Named(padded, "all,some"))).status();
  EXPECT_EQ(wide.message(), "adapter \"all,some\": layer 0 attn_q: found ranks of 12 together, expected at most 8, the rank of the graphs' "
                            "inputs");
  asked_.lora_mode = LoraMode::kGraph;
  asked_.device = true;
  EXPECT_EQ(Named(Must(Read()), "some@2").status().message(),
            "adapter: found \"some@2\" with device, expected one adapter at its own scale: a phone's time does not count what is "
            "composed");
  asked_.device = false;
  asked_.use_adapter = "some@x";
  EXPECT_EQ(Read().status().message(), "use_adapter: found \"some@x\", expected NAME@SCALE with a finite number that 32 bits hold");
  asked_.use_adapter = "some,all";
  asked_.adapter_memory = 40 << 10;
  EXPECT_EQ(FieldOf(Read().status()), "adapter_memory");
}

}  // namespace
}  // namespace tessera
