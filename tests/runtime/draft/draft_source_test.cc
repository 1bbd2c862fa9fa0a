#include "tessera/runtime/draft/draft_source.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(DraftSource, HeaderExample) {
  const auto run = []() -> absl::Status {
    const DraftSource file = {.file = "draft.gguf"}, copy = {.copy = "q3"}, layers = {.layers = 8};
    ASSIGN_OR_RETURN(const DraftSource source, DraftSource::Parse("self:q3:model.gguf"));
    EXPECT_EQ(source.file, "model.gguf");
    EXPECT_EQ(source.copy, copy.copy);
    RETURN_IF_ERROR(copy.Check());
    RETURN_IF_ERROR(layers.Check());
    return file.Check();
  };
  Must(run());
}

TEST(DraftSource, ATextIsAFileOrACopyInFewBits) {
  EXPECT_EQ(Must(DraftSource::Parse("a/b.gguf")).file, "a/b.gguf");
  EXPECT_EQ(Must(DraftSource::Parse("a/b.gguf")).copy, "");
  EXPECT_EQ(Must(DraftSource::Parse("self:q2")).copy, "q2");
  EXPECT_EQ(Must(DraftSource::Parse("self:q2")).file, "");
  EXPECT_EQ(Must(DraftSource::Parse("self:q4:a:b.gguf")).file, "a:b.gguf");
  EXPECT_TRUE(Must(DraftSource::Parse("")).IsNone());
  for (const char* wrong : {"self:", "self:q5", "self:q3:", "self:Q3"}) {
    const absl::Status status = DraftSource::Parse(wrong).status();
    EXPECT_EQ(FieldOf(status), "draft_model") << wrong;
    EXPECT_TRUE(absl::StrContains(status.message(), ", expected a file, or a copy of the model: ")) << status;
  }
}

TEST(DraftSource, ATextMayBeAHeadOrTheFirstLayers) {
  const TemporaryFolder folder;
  EXPECT_TRUE(Must(DraftSource::Parse("a/b.safetensors")).IsHead());
  EXPECT_TRUE(Must(DraftSource::Parse(folder.path())).IsHead());
  for (const char* model : {"a/b.gguf", "a/b.tsr", "self:q3", "self:q3:b.safetensors", "self:layers=2"}) {
    EXPECT_FALSE(Must(DraftSource::Parse(model)).IsHead()) << model;
  }
  const DraftSource layers = Must(DraftSource::Parse("self:layers=8")), mapped = Must(DraftSource::Parse("self:layers=8,head=a,b:c"));
  EXPECT_EQ(layers.layers, 8);
  EXPECT_EQ(layers.map, "");
  EXPECT_FALSE(layers.IsNone());
  EXPECT_EQ(mapped.layers, 8);
  EXPECT_EQ(mapped.map, "a,b:c");
  for (const char* wrong : {"self:layers=", "self:layers=0", "self:layers=-1", "self:layers=x", "self:layers=8,", "self:layers=8,head=",
                            "self:layers=8,map=a", "self:layers"}) {
    EXPECT_FALSE(DraftSource::Parse(wrong).ok()) << wrong;
  }
}

TEST(DraftSource, FieldsThatNoTextGivesAreRefused) {
  const std::pair<DraftSource, const char*> cases[] = {
      {{.copy = "q5"}, "draft_model: found \"self:q5\", expected a file, or a copy"},
      {{.layers = -1}, "draft_model: found -1 layers, expected 0 (all layers) or more"},
      {{.file = "a.gguf", .layers = 2}, "draft_model: found layers beside a file or a copy, expected one of them"},
      {{.copy = "q3", .layers = 2}, "draft_model: found layers beside a file or a copy"},
      {{.file = "a.gguf", .map = "map"}, "draft_model: found a map without layers, expected both"}};
  for (const auto& [source, said] : cases) {
    EXPECT_TRUE(absl::StartsWith(source.Check().message(), said)) << source.Check();
    EXPECT_EQ(FieldOf(source.Check()), "draft_model") << said;
  }
}

}  // namespace
}  // namespace tessera
