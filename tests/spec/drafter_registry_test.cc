// Names of drafters: which there are, the error for a wrong one, and that no drafter takes more memory than it reports.
#include "tessera/spec/drafter_registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr DraftingSize kSmall = {.context = 64, .vocabulary = 100};

TEST(DrafterRegistry, AutoIsAllAndNoneIsNone) {
  EXPECT_EQ(*ParseDrafterList("auto"), DrafterNames());
  EXPECT_EQ(MakeDrafters("auto", kSmall)->size(), DrafterNames().size());
  EXPECT_TRUE(ParseDrafterList("none")->empty());
  EXPECT_TRUE(MakeDrafters("none", kSmall)->empty());
  EXPECT_EQ(*DraftingBytes("none", kSmall), 0);
  for (const std::string& name : DrafterNames()) EXPECT_EQ(MakeDrafters(name, kSmall)->at(0)->name(), name);
}

TEST(DrafterRegistry, AWrongNameIsToldWhatThereIs) {
  const absl::Status status = ParseDrafterList("lokup").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  for (const char* part : {"found \"lokup\"", "auto, none, lookup, suffix, recycling, calibrated, reuse", "did you mean lookup?"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status;
  }
  for (const char* list : {"", ",", "lookup,", "lookup,lookup", "none,lookup", "auto,lookup", "LOOKUP", " lookup"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDrafterList(list).status())) << list;
    EXPECT_TRUE(absl::IsInvalidArgument(MakeDrafters(list, kSmall).status())) << list;
    EXPECT_TRUE(absl::IsInvalidArgument(DraftingBytes(list, kSmall).status())) << list;
  }
}

// A text that grows by one token per pass to a context of 8192, of few kinds of tokens and of many; the model's rows teach as they do in a
// run.
TEST(DrafterRegistry, NoDrafterTakesMoreThanWasSaid) {
  constexpr int kTop = 8;
  for (const std::string& name : DrafterNames()) {
    for (const int kinds : {1, 2, 40000}) {
      SCOPED_TRACE(absl::StrCat(name, ", ", kinds, " kinds of tokens"));
      const DraftingSize size = {.context = 8192, .vocabulary = 49152};
      const std::unique_ptr<Drafter> drafter = std::move(MakeDrafters(name, size)->at(0));
      SeededRandom random(kinds);
      const auto token = [&] { return static_cast<TokenId>(random.Below(kinds)); };
      const auto top = [&] { return TopTokens(kTop, TopToken{token(), 0.1f}); };
      std::vector<TokenId> text(size.context / 2);
      std::generate(text.begin(), text.end(), token);
      std::vector<TopTokens> learnt(text.size());
      std::generate(learnt.begin(), learnt.end(), top);
      const int64_t most = *DraftingBytes(name, size);
      drafter->Begin(text);
      drafter->LearnPrompt(0, learnt);
      EXPECT_LE(drafter->bytes(), most);
      while (static_cast<int>(text.size()) < size.context) {
        TokenTree tree(text.back());
        ASSERT_TRUE(drafter->Propose({.max_nodes = 15}, tree).ok());
        Verdict verdict = {.path = {0}, .emitted = {token()}, .top = std::vector<TopTokens>(tree.size())};
        std::generate(verdict.top.begin(), verdict.top.end(), top);
        text.push_back(verdict.emitted[0]);
        drafter->Commit(tree, verdict);
        ASSERT_LE(drafter->bytes(), most) << text.size();
      }
    }
  }
}

TEST(DrafterRegistry, HeaderExample) {
  const auto example = []() -> absl::Status {
    const DraftingSize size = {.context = 8192, .vocabulary = 49152};
    ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, MakeDrafters("lookup", size));
    ASSIGN_OR_RETURN(const int64_t bytes, DraftingBytes("lookup", size));
    EXPECT_LE(drafters[0]->bytes(), bytes);
    return absl::OkStatus();
  };
  EXPECT_EQ(example(), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
