// Drafters by the names that people know them by: those that are built in, and others that a program adds.
//
//   DrafterRegistry registry = DrafterRegistry::BuiltIn();
//   RETURN_IF_ERROR(registry.Add({.name = "echo", .make = MakeEcho, .most_bytes = EchoBytes}));   // "auto" is all, "none" is none
//   const DraftingSize size = {.context = 8192, .vocabulary = 49152};
//   ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, registry.Make("lookup,echo", size));
//   ASSIGN_OR_RETURN(const DrafterRegistry::BytesOf most_bytes, registry.MostBytes("lookup,echo"));
//   most_bytes(size);                                                                            // they never take more
//
// What a drafter needs besides the text, a model for example, is for its maker to hold: it may be a lambda. A new built-in drafter is
// one line of the table in drafter_registry.cc. A value; thread-compatible: const calls may run at once.
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

// The largest text that is to be drafted.
struct DraftingSize {
  int context = 0;       // Tokens.
  int vocabulary = 0;    // Tokens are 0 to vocabulary - 1.
  const CostProfile* costs = nullptr;   // What passes cost, as is learnt for the texts. Outlives the drafter; null: not known.
};

class DrafterRegistry {
 public:
  using BytesOf = std::function<int64_t(const DraftingSize& size)>;
  struct Kind {
    std::string name = {};
    // A new drafter, for one stream. Its error is the error of Make.
    std::function<absl::StatusOr<std::unique_ptr<Drafter>>(const DraftingSize& size)> make = {};
    // The most memory that such a drafter takes, and a Speculator for it, without what it shares with drafters of other streams.
    BytesOf most_bytes = {};
    bool reads_history = false;   // It drafts from finished answers, too.
  };

  DrafterRegistry() = default;   // Has none.

  // lookup, suffix, recycling, calibrated and reuse. history: what suffix drafts from besides the text; null: nothing.
  static DrafterRegistry BuiltIn(std::shared_ptr<const HistoryStore> history = nullptr);

  // "siblings", to be added where texts are written in sets (Drafter::Join), and only there: without a set it has nothing to draft from.
  // most_bytes leaves out the sets, whose memory is that of their room (shared_history.h).
  static Kind Siblings();

  // InvalidArgument (found, expected) for a name that is empty, has a comma, is auto or none, or is there already.
  // REQUIRES: make and most_bytes are callable.
  absl::Status Add(Kind kind);

  // In the order in which drafters were added, which is that in which they are asked.
  std::vector<std::string> Names() const;

  // The names that a list means: "auto" (all), "none", or names with commas between. InvalidArgument (found, expected, what was meant)
  // for a name that is none, or is there twice, and for more drafters than a CompositeDrafter takes.
  absl::StatusOr<std::vector<std::string>> Parse(absl::string_view list) const;

  // In the order of the list; empty for "none". The errors of Parse, and of makers.
  absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> Make(absl::string_view list, const DraftingSize& size) const;

  // The sum of their most_bytes. The function holds no maker, and so nothing that a maker holds. The errors of Parse.
  absl::StatusOr<BytesOf> MostBytes(absl::string_view list) const;

  // Whether one of them drafts from a history; false for a list that Parse refuses.
  bool ReadsHistory(absl::string_view list) const;

 private:
  const Kind* Find(absl::string_view name) const;   // Null: there is none.

  std::vector<Kind> kinds_;
};

}  // namespace tessera
