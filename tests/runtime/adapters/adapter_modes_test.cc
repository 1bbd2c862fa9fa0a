// How adapters lie in memory, and which of them are there.
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

// Adapters of the tiny llama: of queries and values with rank 8, and of all matrices with rank 4, two layers in 16 bits.
constexpr int64_t kQueryAndValue = 128 + 96, kAllMatrices = 128 + 96 + 96 + 128 + 160 + 160 + 160;   // Inputs and outputs.
constexpr int64_t kSomeBytes = 2 * 2 * 8 * kQueryAndValue, kAllBytes = 2 * 2 * 4 * kAllMatrices;
constexpr int64_t kPadded = 2 * 2 * (8 * kQueryAndValue + 4 * (kAllMatrices - kQueryAndValue));      // Each of them, by input.

std::string Both() { return absl::StrCat("some:", GoldenPath("lora/llama-qv"), ",all:", GoldenPath("lora/llama-all.gguf")); }

class AdapterModes : public testing::Test {
 protected:
  AdapterModes() {
    asked_.requests = true;
    asked_.adapter = Must(ParseAdapterList(Both()));
  }
  absl::StatusOr<Adapters> Read() {
    options_ = {.model_path = GoldenPath("tiny/llama.gguf")};
    return Adapters::Create(asked_, options_);
  }
  const Workload& workload() const { return options_.workload; }

  AdapterOptions asked_;

 private:
  EngineOptions options_;
};

TEST_F(AdapterModes, EachWayHasItsMemory) {
  for (const LoraMode mode : {LoraMode::kGraph, LoraMode::kMask, LoraMode::kInput}) {
    asked_.lora_mode = mode;
    const absl::string_view way = LoraModeName(mode);
    const Adapters adapters = Must(Read());
    const int64_t padding = mode == LoraMode::kInput ? 2 * kPadded - kAllBytes - kSomeBytes : 0;
    EXPECT_EQ(workload().adapter_bytes, kAllBytes + kSomeBytes + padding) << way;
    EXPECT_EQ(workload().adapter_padding, padding) << way;
    EXPECT_EQ(workload().adapter_room, 0);
    const std::string shown = padding == 0 ? "" : absl::StrCat(", of which ", FormatByteSize(padding), " are padding");
    EXPECT_EQ(adapters.StatsLine(), absl::StrCat("adapters: 2 by ", way, ", ", FormatByteSize(workload().adapter_bytes), shown, "\n"));
  }
}

TEST_F(AdapterModes, AWayWithoutAdaptersIsRefused) {
  asked_.adapter = {};
  asked_.lora_mode = LoraMode::kMask;
  EXPECT_EQ(Read().status().message(), "lora_mode: found without adapter, expected both");
}

// Room for one of the two: the other is read when it is named, and then the first again.
TEST_F(AdapterModes, AdaptersBeyondTheMemoryAreReadWhenNamed) {
  asked_.adapter_memory = kAllBytes;
  const Adapters adapters = Must(Read());
  EXPECT_EQ(workload().adapter_bytes, kSomeBytes) << "the first fits, the second beside it does not";
  EXPECT_EQ(workload().adapter_room, kAllBytes - kSomeBytes);
  EXPECT_FALSE(adapters.reads_again().has_value());
  const Sha256Sum some = Must(adapters.Lease(0))->Sum(), all = Must(adapters.Lease(1))->Sum();
  EXPECT_NE(some, all);
  EXPECT_EQ(Must(adapters.Lease(0))->Sum(), some);
  EXPECT_EQ(adapters.reads_again().value_or(AdapterCache::Stats()).reads, 3);
}

// By input both are as large as if each matrix had the larger rank, whichever of them memory holds.
TEST_F(AdapterModes, PaddingCountsInTheirMemory) {
  asked_.lora_mode = LoraMode::kInput;
  for (const bool has_room : {true, false}) {
    asked_.adapter_memory = has_room ? 2 * kPadded : 2 * kPadded - 1;
    const Adapters adapters = Must(Read());
    EXPECT_EQ(workload().adapter_bytes, has_room ? 2 * kPadded : kPadded);
    EXPECT_EQ(workload().adapter_padding, has_room ? 2 * kPadded - kAllBytes - kSomeBytes : kPadded - kSomeBytes);
    for (const int number : {0, 1, 0}) EXPECT_EQ(Must(adapters.Lease(number))->bytes(), kPadded);
    EXPECT_EQ(!adapters.reads_again().has_value(), has_room);
  }
}

TEST_F(AdapterModes, TooLittleMemoryAndNoneToUseAreRefused) {
  asked_.adapter_memory = kAllBytes;
  asked_.parallel = 2;
  EXPECT_EQ(Read().status().message(),
            absl::StrCat("adapter_memory: found ", FormatByteSize(kAllBytes), ", expected at least ", kAllBytes + kSomeBytes,
                         " bytes, for the largest of as many texts as are written at once: 2"));
  asked_.lora_mode = LoraMode::kMask;
  EXPECT_EQ(Read().status().message(), "adapter_memory: found with lora_mode=mask, expected input or graph: a mask has all in memory");
  asked_.lora_mode = LoraMode::kGraph;
  asked_.adapter_memory = -1;
  EXPECT_EQ(FieldOf(Read().status()), "adapter_memory");
  asked_.adapter_memory = 1 << 20;
  asked_.adapter = {};
  asked_.lora_mode = std::nullopt;
  EXPECT_EQ(Read().status().message(), "adapter_memory: found without adapter, expected both");
}

// A text alone needs the one that it has.
TEST_F(AdapterModes, WithoutRequestsTheUsedOneIsReadAndNoOther) {
  asked_.requests = false;
  asked_.use_adapter = "all";
  asked_.adapter_memory = 1 << 20;
  const Adapters adapters = Must(Read());
  EXPECT_EQ(workload().adapter_bytes, kAllBytes);
  EXPECT_EQ(workload().adapter_room, 0);
  EXPECT_EQ(Must(adapters.Lease(adapters.chosen()))->bytes(), kAllBytes);
}

}  // namespace
}  // namespace tessera
