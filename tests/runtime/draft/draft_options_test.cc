#include "tessera/runtime/draft/draft_options.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/named_options.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/forecast_file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(DraftOptions, HeaderExample) {
  std::string said;
  DraftModelOptions options = {.draft_model = {.copy = "q3"}, .cache_folder = "/home/a/.cache/tessera"};
  options.messages.on_warning = [&](const std::string& warning) { said = warning; };
  Must(CheckDraftOptions(options));
  EXPECT_EQ(DraftTree(options), "lever");
  options.messages.Warn("a copy is made again");
  EXPECT_EQ(said, "a copy is made again");
}

// A star stands before each option that a message names besides its own.
TEST(DraftOptions, FieldsWithNothingToDoAreRefusedByName) {
  const DraftSource model = {.file = "draft.gguf"};
  const std::pair<DraftModelOptions, std::string> cases[] = {
      {{.speculate = "draft"}, "speculate: found draft without *draft_model, expected both: *draft_model=FILE, or self:q3 for a copy of "
                               "the model itself"},
      {{.speculate = "lookup,draft"}, "speculate: found draft without *draft_model"},
      {{.tree = "chain"}, "tree: found without *draft_model, expected both: a tree of what the draft model says"},
      {{.prune = "exit"}, "prune: found without *draft_model, expected both"},
      {{.draft_model = model, .prune_threshold = 0.2}, "prune_threshold: found without *prune, expected both"},
      {{.draft_model = model, .prune = "exit", .prune_threshold = -1}, "prune_threshold: "},
      {{.accept = "rejection"}, "accept: found rejection without *draft_model, expected both"},
      {{.draft_model = model, .accept = "rejection", .temperature = 0},
       "accept: found rejection with *temperature=0, expected match, or a temperature above 0"},
      {{.draft_model = model, .accept = "all"}, "accept: found \"all\", expected match or rejection"},
      {{.speculate = "none", .draft_model = model}, "draft_model: found with *speculate=none, expected auto, draft, or a list with draft"},
      {{.draft_model = model, .device = true}, "draft_model: found beside *device, expected forecasts, or none"},
      {{.draft_model = {.layers = -2}}, "draft_model: found -2 layers"},
      {{.draft_model = model, .tree = "oak"}, "tree: "},
      {{.draft_model = model, .tree = "ds2d:3,2"}, "tree: "}};
  for (const auto& [options, said] : cases) {
    const absl::Status status = CheckDraftOptions(options);
    const absl::Status starred = WithOptionNames(status, [](absl::string_view option) { return absl::StrCat("*", option); });
    EXPECT_TRUE(absl::StartsWith(starred.message(), said)) << said << "\n" << starred;
    EXPECT_EQ(FieldOf(status), said.substr(0, said.find(':'))) << said;
  }
}

TEST(DraftOptions, FieldsWithSomethingToDoAreTaken) {
  const DraftSource model = {.file = "draft.gguf"};
  const std::vector<DraftModelOptions> right = {
      {}, {.speculate = "none"}, {.draft_model = model}, {.speculate = "draft,suffix", .draft_model = model, .tree = "chain"},
      {.draft_model = model, .prune = "exit", .prune_threshold = 0.5}, {.draft_model = model, .accept = "rejection", .temperature = 0.7},
      {.draft_model = model, .accept = "rejection"}, {.draft_model = {.layers = 1, .map = "map"}}, {.device = true}};
  for (const DraftModelOptions& options : right) Must(CheckDraftOptions(options));
}

TEST(DraftOptions, ForecastsAreDrawnByNobodyAndMayBeBesideADevice) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("ds2d.safetensors");
  RandomForecasts(TinyEngine({}, {})->config(), {.slots = 4, .forecasts = 3}, 1).WriteTo(path);
  DraftModelOptions options = {.draft_model = {.file = path}, .device = true};
  Must(CheckDraftOptions(options));
  EXPECT_EQ(DraftTree(options), "ds2d:auto");
  options.accept = "rejection";
  EXPECT_EQ(FieldOf(CheckDraftOptions(options)), "accept");
  options.accept = "match";
  options.tree = "lever";
  EXPECT_EQ(FieldOf(CheckDraftOptions(options)), "tree");
}

TEST(DraftOptions, ListsOfDraftersSayWhatTheyAskFor) {
  EXPECT_TRUE(AsksForDraftModel("auto") && AsksForDraftModel("lookup,draft"));
  EXPECT_FALSE(AsksForDraftModel("none") || AsksForDraftModel("lookup") || AsksForDraftModel("drafts"));
  EXPECT_TRUE(ReadsHistory("draft,suffix") && ReadsHistory("auto"));
  EXPECT_FALSE(ReadsHistory("draft"));
}

// Else the tree "lever" would know no costs, and draft nothing.
TEST(DraftOptions, TheMakerOfADrafterIsToldWhatPassesCost) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const CostProfile* told = nullptr;
  DrafterRegistry::Kind own = NamedDraft();
  own.make = [&](const DraftingSize& size) -> absl::StatusOr<std::unique_ptr<Drafter>> {
    told = size.costs;
    ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, DrafterRegistry::BuiltIn().Make("lookup", size));
    return std::move(drafters[0]);
  };
  const std::unique_ptr<Speculation> speculation = Must(Speculation::Create(*engine, {.speculate = "draft", .own_drafters = {own}}));
  EXPECT_EQ(told, &speculation->costs());
}

}  // namespace
}  // namespace tessera
