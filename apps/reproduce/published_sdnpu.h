// What papers 000 and 003 (sd.npu) say about whole requests, to print beside what is predicted.
//
//   for (const PublishedAblation& row : PublishedAblations()) Print(row.shape, row.npu, row.full);
//   for (const PublishedFact& fact : PublishedSdnpuFacts()) if (fact.table == table) Print(fact.what, fact.value, fact.source);
//
// They stand in this file alone. What prints tables includes it, and nothing else: no figure is a parameter, and no prediction knows one.
// Constant data: thread-safe.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// A row of table 3: milliseconds per token of the summary task on a Redmi K60 Pro (8 Gen 2).
struct PublishedAblation { const char* shape; double npu, npu_g, npu_sd, npu_g_sd, full; };
absl::Span<const PublishedAblation> PublishedAblations();

// A row of table 4: tokens per pass of Qwen2.5-1.5B, and of Llama-3.2-1B.
struct PublishedAcceptance { const char* task; const char* drafter; double qwen, llama; };
absl::Span<const PublishedAcceptance> PublishedAcceptances();

struct PublishedFact {
  // Where it belongs: "breakdown", "chunks", "lengths", "tasks", "energy", "memory", "rows", "rejected", "switches".
  absl::string_view table;
  const char* what;
  const char* value;
  const char* source;
  const char* note = "";     // Why it cannot be compared, if so.
};
absl::Span<const PublishedFact> PublishedSdnpuFacts();

}  // namespace tessera
