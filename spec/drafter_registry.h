// Drafters by the names that people know them by, as --speculate takes them: `auto` is all there are, `none` is no drafter, and
// otherwise a list says which.
//
//   const DraftingSize size = {.context = 8192, .vocabulary = 49152};
//   ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, MakeDrafters("lookup", size));
//   ASSIGN_OR_RETURN(const int64_t bytes, DraftingBytes("lookup", size));         // they never take more
//
// A new drafter is one line of the table in drafter_registry.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/spec/drafter.h"
#include "tessera/spec/history_store.h"

namespace tessera {

// Of the texts that are to be drafted.
struct DraftingSize {
  int context = 0;       // Most tokens of a text.
  int vocabulary = 0;
};

// What drafters share with those of other streams.
struct DraftingStores {
  std::shared_ptr<const HistoryStore> history;   // Null: none.
};

// All drafters, in the order in which they are asked.
std::vector<std::string> DrafterNames();

// "auto", "none" or names with commas between: these. InvalidArgument (found, expected, what was meant) for a name that is none, or is
// there twice.
absl::StatusOr<std::vector<std::string>> ParseDrafterList(absl::string_view list);

// In the order of the list; empty for "none". The errors of ParseDrafterList.
absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(absl::string_view list, const DraftingSize& size,
                                                                   const DraftingStores& stores = {});

// The most memory that they take, and a Speculator for them, without stores. The same errors.
absl::StatusOr<int64_t> DraftingBytes(absl::string_view list, const DraftingSize& size);

}  // namespace tessera
