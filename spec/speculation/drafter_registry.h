// Maps user-visible names to drafters: the built-in drafters, and drafters that a program adds.
//
//   DrafterRegistry registry = DrafterRegistry::BuiltIn();
//   RETURN_IF_ERROR(registry.Add({.name = "echo", .make = MakeEcho, .most_bytes = EchoBytes}));   // "auto" is all, "none" is none
//   const DraftingSize size = {.context = 8192, .vocabulary = 49152};
//   ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, registry.Make("lookup,echo", size));
//   ASSIGN_OR_RETURN(const DrafterRegistry::BytesOf most_bytes, registry.MostBytes("lookup,echo"));
//   most_bytes(size);                                                                            // they never take more
//
// If a drafter needs more than the sequence, for example a model, the maker holds the extra data: the maker may be a lambda. A new built-in
// drafter is one line of the table in drafter_registry.cc. A value; thread-compatible: const calls may run at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/history_store.h"

namespace tessera {

class CostProfile;

// The largest sequence to draft for.
struct DraftingSize {
  int context = 0;       // Tokens.
  int vocabulary = 0;    // Tokens are 0 to vocabulary - 1.
  const CostProfile* costs = nullptr;   // The sequences' learnt pass costs. Outlives the drafter; null: unknown.
};

class DrafterRegistry {
 public:
  using BytesOf = std::function<int64_t(const DraftingSize& size)>;
  struct Kind {
    std::string name = {};
    // Makes a new drafter, for one sequence. Errors are returned by Make.
    std::function<absl::StatusOr<std::unique_ptr<Drafter>>(const DraftingSize& size)> make = {};
    // The most memory of such a drafter with its Speculator, without data shared with drafters of other sequences.
    BytesOf most_bytes = {};
    bool reads_history = false;   // Drafts from finished answers, too.
  };

  DrafterRegistry() = default;   // Has no drafters.

  // Returns lookup, suffix, recycling, calibrated and reuse. history: additional texts for suffix; null: none.
  static DrafterRegistry BuiltIn(std::shared_ptr<const HistoryStore> history = nullptr);

  // "siblings", for sequences that are written in sets (Drafter::Join), and only there: without a set nothing can be drafted. most_bytes
  // leaves out the sets, since the sets' room bounds that memory (shared_history.h).
  static Kind Siblings();

  // Adds a drafter. InvalidArgument (found, expected) for a name that is empty, has a comma, is auto or none, or is there already.
  // REQUIRES: make and most_bytes are callable.
  absl::Status Add(Kind kind);

  // Returns the names in the order of the Add calls. Drafters are asked in the same order.
  std::vector<std::string> Names() const;

  // Parses a list: "auto" (all), "none", or names with commas between. InvalidArgument (found, expected, intended name) for an unknown
  // name, a name that stands twice, and for more drafters than a CompositeDrafter takes.
  absl::StatusOr<std::vector<std::string>> Parse(absl::string_view list) const;

  // Makes drafters in the order of the list; empty for "none". Returns the errors of Parse, and of makers.
  absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> Make(absl::string_view list, const DraftingSize& size) const;

  // Returns the sum of the drafters' most_bytes. The function holds no maker, and so no data of a maker. Returns the errors of Parse.
  absl::StatusOr<BytesOf> MostBytes(absl::string_view list) const;

  // Returns whether one of the drafters drafts from a history; false for a list that Parse refuses.
  bool ReadsHistory(absl::string_view list) const;

 private:
  const Kind* Find(absl::string_view name) const;   // Null: there is none.

  std::vector<Kind> kinds_;
};

}  // namespace tessera
