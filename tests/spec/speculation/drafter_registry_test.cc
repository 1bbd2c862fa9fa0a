// Names of drafters: which there are, the error for a wrong one, and that no drafter takes more memory than it reports.
#include "tessera/spec/speculation/drafter_registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/costs/estimate_mixer.h"
#include "tessera/tests/fakes/fake_drafters.h"

namespace tessera {
namespace {

constexpr DraftingSize kSmall = {.context = 64, .vocabulary = 100};

DrafterRegistry BuiltIn() { return DrafterRegistry::BuiltIn(); }

// Another project's.
DrafterRegistry::Kind Echo(const std::string& name) {
  return {.name = name,
          .make = [](const DraftingSize&) { return std::make_unique<ScriptedDrafter>(std::vector<TokenId>()); },
          .most_bytes = [](const DraftingSize& size) { return int64_t{size.context}; }};
}

TEST(DrafterRegistry, OthersAddDraftersOfTheirOwn) {
  DrafterRegistry registry = BuiltIn();
  ASSERT_EQ(registry.Add(Echo("echo")), absl::OkStatus());
  const auto drafters = registry.Make("echo,lookup", kSmall);
  ASSERT_TRUE(drafters.ok()) << drafters.status();
  EXPECT_EQ((*drafters)[0]->name(), "fake");
  EXPECT_EQ((*drafters)[1]->name(), "lookup");
  EXPECT_EQ((*registry.MostBytes("echo"))(kSmall), kSmall.context);
  EXPECT_EQ(registry.Names().back(), "echo");
  EXPECT_EQ(registry.Make("auto", kSmall)->size(), BuiltIn().Names().size() + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(BuiltIn().Make("echo", kSmall).status())) << "a registry is a value: others have no echo";
}

TEST(DrafterRegistry, NamesThatAListCouldNotMeanAreRefused) {
  DrafterRegistry registry = BuiltIn();
  for (const char* name : {"", "a,b", "auto", "none", "lookup"}) {
    const absl::Status status = registry.Add(Echo(name));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("drafter: found \"", name, "\""))) << status;
  }
  EXPECT_EQ(registry.Names(), BuiltIn().Names());
}

TEST(DrafterRegistry, AMakersErrorIsTheError) {
  DrafterRegistry registry;
  DrafterRegistry::Kind broken = Echo("model");
  broken.make = [](const DraftingSize&) { return absl::NotFoundError("draft.gguf: no such file"); };
  ASSERT_EQ(registry.Add(std::move(broken)), absl::OkStatus());
  EXPECT_EQ(registry.Make("auto", kSmall).status(), absl::NotFoundError("draft.gguf: no such file"));
}

TEST(DrafterRegistry, MoreDraftersThanOneTreeTakesAreRefused) {
  DrafterRegistry registry;
  for (int i = 0; i <= Estimates::kMostSources; ++i) ASSERT_EQ(registry.Add(Echo(absl::StrCat("echo", i))), absl::OkStatus());
  const absl::Status status = registry.Make("auto", kSmall).status();
  EXPECT_EQ(status, absl::InvalidArgumentError("drafter: found 9 in \"auto\", expected at most 8"));
  EXPECT_EQ(registry.Parse("auto").status(), status);
}

TEST(DrafterRegistry, AutoIsAllAndNoneIsNone) {
  EXPECT_EQ(*BuiltIn().Parse("auto"), BuiltIn().Names());
  EXPECT_EQ(BuiltIn().Make("auto", kSmall)->size(), BuiltIn().Names().size());
  EXPECT_TRUE(BuiltIn().Parse("none")->empty());
  EXPECT_TRUE(BuiltIn().Make("none", kSmall)->empty());
  EXPECT_EQ((*BuiltIn().MostBytes("none"))(kSmall), 0);
  for (const std::string& name : BuiltIn().Names()) EXPECT_EQ(BuiltIn().Make(name, kSmall)->at(0)->name(), name);
}

TEST(DrafterRegistry, AHistoryIsReadOnlyByDraftersThatSaySo) {
  for (const char* list : {"auto", "suffix", "lookup,suffix"}) EXPECT_TRUE(BuiltIn().ReadsHistory(list)) << list;
  for (const char* list : {"none", "lookup", "recycling,calibrated,reuse", "sufix"}) EXPECT_FALSE(BuiltIn().ReadsHistory(list)) << list;
  DrafterRegistry registry;
  DrafterRegistry::Kind echo = Echo("echo");
  echo.reads_history = true;
  ASSERT_TRUE(registry.Add(echo).ok());
  EXPECT_TRUE(registry.ReadsHistory("echo"));
}

TEST(DrafterRegistry, AWrongNameIsAnsweredWithTheKnownNames) {
  const absl::Status status = BuiltIn().Parse("lokup").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  for (const char* part : {"found \"lokup\"", "auto, none, lookup, suffix, recycling, calibrated, reuse", "did you mean lookup?"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status;
  }
  for (const char* list : {"auto,none", "none,lookup", "lookup,auto"}) {
    const absl::Status mixed = BuiltIn().Parse(list).status();
    EXPECT_NE(mixed.message().find(absl::StrCat("found \"", list, "\", expected auto or none alone, or names of drafters")),
              std::string::npos) << mixed;
  }
  for (const char* list : {"", ",", "lookup,", "lookup,lookup", "none,lookup", "auto,lookup", "LOOKUP", " lookup"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(BuiltIn().Parse(list).status())) << list;
    EXPECT_TRUE(absl::IsInvalidArgument(BuiltIn().Make(list, kSmall).status())) << list;
    EXPECT_TRUE(absl::IsInvalidArgument(BuiltIn().MostBytes(list).status())) << list;
  }
}

// A text that grows by one token per pass to a context of 8192, of few kinds of tokens and of many; the model's rows teach as they do in a
// run.
TEST(DrafterRegistry, NoDrafterTakesMoreThanWasSaid) {
  constexpr int kTop = 8;
  for (const std::string& name : BuiltIn().Names()) {
    for (const int kinds : {1, 2, 40000}) {
      SCOPED_TRACE(absl::StrCat(name, ", ", kinds, " kinds of tokens"));
      const DraftingSize size = {.context = 8192, .vocabulary = 49152};
      const std::unique_ptr<Drafter> drafter = std::move(BuiltIn().Make(name, size)->at(0));
      SeededRandom random(kinds);
      const auto token = [&] { return static_cast<TokenId>(random.Below(kinds)); };
      const auto top = [&] { return TopTokens(kTop, TopToken{token(), 0.1f}); };
      std::vector<TokenId> text(size.context / 2);
      std::generate(text.begin(), text.end(), token);
      std::vector<TopTokens> learnt(text.size());
      std::generate(learnt.begin(), learnt.end(), top);
      const int64_t most = (*BuiltIn().MostBytes(name))(size);
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
  const auto MakeEcho = Echo("echo").make;
  const auto EchoBytes = Echo("echo").most_bytes;
  const auto example = [&]() -> absl::Status {
    DrafterRegistry registry = DrafterRegistry::BuiltIn();
    RETURN_IF_ERROR(registry.Add({.name = "echo", .make = MakeEcho, .most_bytes = EchoBytes}));
    const DraftingSize size = {.context = 8192, .vocabulary = 49152};
    ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, registry.Make("lookup,echo", size));
    ASSIGN_OR_RETURN(const DrafterRegistry::BytesOf most_bytes, registry.MostBytes("lookup,echo"));
    EXPECT_LE(drafters[0]->bytes(), most_bytes(size));
    return absl::OkStatus();
  };
  EXPECT_EQ(example(), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
