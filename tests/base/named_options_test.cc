#include "tessera/base/named_options.h"

#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

std::string Dashed(absl::string_view option) { return absl::StrCat("--", option); }

std::string Shown(const std::string& message, const std::vector<std::string>& texts) {
  return std::string(WithOptionNames(NamingOptions(texts, absl::InternalError(message)), Dashed).message());
}

TEST(NamedOptions, HeaderExample) {
  const absl::Status status = NamingOptions({"draft_model"}, WrongUsage("tree", "without draft_model", "both"));
  EXPECT_EQ(status.message(), "tree: found without draft_model, expected both");
  const absl::Status shown = WithOptionNames(status, [](absl::string_view option) { return absl::StrCat("--", option); });
  EXPECT_EQ(shown.message(), "tree: found without --draft_model, expected both");
  EXPECT_EQ(shown.code(), status.code());
  EXPECT_EQ(FieldOf(shown), "tree");
}

TEST(NamedOptions, ATextIsRenamedWhereverItStandsAlone) {
  EXPECT_EQ(Shown("draft without draft_model, expected draft_model=FILE", {"draft_model"}),
            "draft without --draft_model, expected --draft_model=FILE");
  EXPECT_EQ(Shown("prune_threshold: without prune, or pruned", {"prune"}), "prune_threshold: without --prune, or pruned");
  EXPECT_EQ(Shown("found with speculate=none, speculate", {"speculate=none"}), "found with --speculate=none, speculate");
  EXPECT_EQ(Shown("with adapter and device: one adapter", {"adapter and", "device"}), "with --adapter and --device: one adapter");
  EXPECT_EQ(Shown("temperature=05", {"temperature=0"}), "temperature=05") << "a part of another number";
  EXPECT_EQ(Shown("with a or b", {"a", "b"}), "with --a or --b");
  EXPECT_EQ(Shown("device", {"device"}), "--device");
}

TEST(NamedOptions, QuotedTextIsNoOption) {
  EXPECT_EQ(Shown("found \"device\" with device", {"device"}), "found \"device\" with --device");
  EXPECT_EQ(Shown(R"(found "a \" device" with device)", {"device"}), R"(found "a \" device" with --device)");
  EXPECT_EQ(Shown("found \"device", {"device"}), "found \"device");
}

TEST(NamedOptions, NamesAreGivenOnceAndOnlyToWhatIsMarked) {
  const absl::Status once = WithOptionNames(NamingOptions({"a"}, absl::InternalError("with a")), Dashed);
  EXPECT_EQ(WithOptionNames(once, Dashed), once);
  EXPECT_EQ(WithOptionNames(absl::InternalError("with a"), Dashed).message(), "with a");
  EXPECT_TRUE(NamingOptions({"a"}, absl::OkStatus()).ok());
  EXPECT_TRUE(WithOptionNames(absl::OkStatus(), Dashed).ok());
}

}  // namespace
}  // namespace tessera
