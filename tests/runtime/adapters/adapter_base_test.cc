#include "tessera/runtime/adapters/adapter_base.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

TEST(AdapterBase, HeaderExample) {
  const EngineOptions options = {.model_path = GoldenPath("tiny/llama.gguf")};
  const std::string path = GoldenPath("lora/llama-qv");
  const auto run = [&]() -> absl::StatusOr<float> {
    ASSIGN_OR_RETURN(const std::shared_ptr<const AdapterBase> base, AdapterBase::Open(options));
    ASSIGN_OR_RETURN(const std::unique_ptr<AdapterReader> reader, base->OpenFile(path));
    ASSIGN_OR_RETURN(const LoraAdapter adapter, base->Read(path, /*scale=*/0.5f));
    ASSIGN_OR_RETURN(const LoraAdapter whole, base->Read(path, /*scale=*/1, reader.get()));
    EXPECT_EQ(adapter.bytes(), whole.bytes());
    return adapter.Layer(0)[0].scale / whole.Layer(0)[0].scale;
  };
  EXPECT_EQ(Must(run()), 0.5f);
}

TEST(AdapterBase, AnAdapterOfAnotherModelIsRefusedByItsPath) {
  const auto base = Must(AdapterBase::Open({.model_path = GoldenPath("tiny/llama.gguf")}));
  const std::string other = GoldenPath("lora/smollm2-qv");
  EXPECT_TRUE(absl::StrContains(base->OpenFile(other).status().message(), other));
  EXPECT_TRUE(absl::StrContains(base->Read(other, 1).status().message(), other));
  EXPECT_FALSE(AdapterBase::Open({.model_path = other}).ok());
}

}  // namespace
}  // namespace tessera
