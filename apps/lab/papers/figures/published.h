// What the papers (docs/papers.md) say about NPUs, to print beside what is predicted: times, memory, shares, ratios, and whole requests.
//
//   for (const PublishedFigure& figure : PublishedNpuFigures()) Print(figure.id, figure.low, figure.high, figure.unit, figure.source);
//   for (const PublishedAblation& row : PublishedAblations()) Print(row.shape, row.npu, row.full);
//   for (const PublishedFact& fact : PublishedSdnpuFacts()) if (fact.table == table) Print(fact.what, fact.value, fact.source);
//
// They stand in this header's files alone. What compares and prints them may include it, and nothing else: no figure is a parameter, and no
// prediction knows one. A figure that both kinds of tables show is here once for each: as a number that errors are computed of, and as
// the papers' words. Not here are figures of accuracy (docs/tiles.md). Constant data: thread-safe.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// A number of times, memory, shares or ratios (tessera_reproduce npu).
struct PublishedFigure {
  enum class Kind : uint8_t { kValue, kRange, kAtMost, kAtLeast };   // Bounds have their number in low and high.
  enum class Use : uint8_t {
    kCounted,
    kContradicted,   // The papers contradict it: shown, not counted.
    kElsewhere,      // About requests whose drafts come from recordings: tessera_reproduce sdnpu compares it.
    kOfParameters,   // Parameters were guessed by it: shown, not counted.
  };
  const char* id;
  const char* what;
  Kind kind;
  double low, high;
  const char* unit;
  const char* source;
  Use use = Use::kCounted;
  const char* reason = "";   // Why the use is not kCounted, or a note.
};

absl::Span<const PublishedFigure> PublishedNpuFigures();

// Whole requests of sd.npu, both versions (tessera_reproduce sdnpu).

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

// One model for many tasks, the one-for-all paper (tessera_reproduce onemodel). The rest of its tables 3 and 10 is in
// PublishedNpuFigures().

struct PublishedOnemodelFigure {
  int table;
  const char *id, *what;
  double value;
  const char* unit;
  const char* note = "";
};
absl::Span<const PublishedOnemodelFigure> PublishedOnemodelFigures();

// A row of table 6. prompt_chunks: the paper does not say it; prefill times are about 1, 2 and 4 times the least.
struct PublishedUseCase {
  const char* name;
  double prefill, plain, ds2d;                 // Milliseconds: the prompt, a token without DS2D and with it.
  double plain_rate, ds2d_rate;                // Tokens per second.
  double peak_megabytes, init_milliseconds;
  int prompt_chunks;
};
absl::Span<const PublishedUseCase> PublishedUseCases();

// A row of table 7: by use case, in the order of PublishedBranchTasks().
struct PublishedBranches {
  const char* configuration;   // As ParseBranches (spec/trees/branches.h) reads it; the table has "1.8" for (1, 8).
  double tokens_per_pass[8], tokens_per_second[8];
};
absl::Span<const PublishedBranches> PublishedBranchTable();
absl::Span<const char* const> PublishedBranchTasks();

// Lever, Lever (tessera_reproduce lever): a row of one of its tables, or figures of a section or picture that stand in its text.
struct PublishedLeverRow {
  const char* table;           // "table5", "section5.2", "figure12"; with `row` as LeverSeries (lever_shapes.h) has them.
  const char* row;
  double values[6];            // By column; those beyond the row's columns are 0.
  const char* source;
  bool counted = true;         // False: it is shown beside ours, and in no statistic.
};
absl::Span<const PublishedLeverRow> PublishedLeverRows();

// Test-time scaling, the test-time scaling paper (tessera_reproduce scaling), but for the head's share, which is in PublishedNpuFigures().
absl::Span<const PublishedFigure> PublishedScalingFigures();

// What a model answers right with one sample, as far as the paper's text has it; its curves of accuracy are pictures.
struct PublishedAccuracy {
  const char *shape, *set;
  double percent;
  const char* source;
};
absl::Span<const PublishedAccuracy> PublishedBaseAccuracies();

}  // namespace tessera
