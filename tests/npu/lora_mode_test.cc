#include "tessera/npu/lora_mode.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

TEST(LoraMode, HeaderExample) {
  std::string shown;
  const auto Print = [&](absl::string_view name) { shown = std::string(name); };
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const LoraMode mode, LoraModeFromName("mask"));
    Print(LoraModeName(mode));
    return absl::OkStatus();
  };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(shown, "mask");
}

TEST(LoraMode, NamesLeadBackAndOthersAreRefused) {
  for (const LoraMode mode : {LoraMode::kInput, LoraMode::kMask, LoraMode::kGraph}) {
    EXPECT_EQ(Must(LoraModeFromName(LoraModeName(mode))), mode);
  }
  for (const char* const name : {"", "Mask", "all", "graphs"}) {
    const absl::Status status = LoraModeFromName(name).status();
    EXPECT_EQ(status.message(), absl::StrCat("lora_mode: found \"", name, "\", expected input, mask or graph"));
    EXPECT_EQ(FieldOf(status), "lora_mode");
  }
}

}  // namespace
}  // namespace tessera
