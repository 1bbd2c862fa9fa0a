// Published figures of the five papers (docs/papers.md) about NPUs, printed next to predictions: times, memory, shares, ratios, and whole
// requests.
//
//   for (const PublishedFigure& figure : PublishedNpuFigures()) Print(figure.id, figure.low, figure.high, figure.unit, figure.source);
//   for (const PublishedAblation& row : PublishedAblations()) Print(row.shape, row.npu, row.full);
//   for (const PublishedFact& fact : PublishedSdnpuFacts()) if (fact.table == table) Print(fact.what, fact.value, fact.source);
//
// The figures stand in this header's files alone. Only files that compare and print may include this header: no figure is a parameter, and
// no prediction uses one. A figure that both kinds of tables show is here twice: as a number for computing errors, and as the papers'
// words. Figures of accuracy are not here (docs/tiles.md). Constant data: thread-safe.
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
    kElsewhere,      // About requests whose drafts come from recordings: compared by tessera_reproduce sdnpu.
    kOfParameters,   // Parameters were guessed from the figure: shown, not counted.
  };
  const char* id;
  const char* what;
  Kind kind;
  double low, high;
  const char* unit;
  const char* source;
  Use use = Use::kCounted;
  const char* reason = "";   // The reason for a use other than kCounted, or a note.
};

absl::Span<const PublishedFigure> PublishedNpuFigures();

// Whole requests of both versions of sd.npu (tessera_reproduce sdnpu).

// A row of table 3: milliseconds per token of the summary task on a Redmi K60 Pro (8 Gen 2).
struct PublishedAblation { const char* shape; double npu, npu_g, npu_sd, npu_g_sd, full; };
absl::Span<const PublishedAblation> PublishedAblations();

// A row of table 4: tokens per pass of Qwen2.5-1.5B, and of Llama-3.2-1B.
struct PublishedAcceptance { const char* task; const char* drafter; double qwen, llama; };
absl::Span<const PublishedAcceptance> PublishedAcceptances();

struct PublishedFact {
  // The figure's table: "breakdown", "chunks", "lengths", "tasks", "energy", "memory", "rows", "rejected", "switches".
  absl::string_view table;
  const char* what;
  const char* value;
  const char* source;
  const char* note = "";     // The reason, if the figure cannot be compared.
};
absl::Span<const PublishedFact> PublishedSdnpuFacts();

// One model for many tasks, the one-for-all paper (tessera_reproduce onemodel). The rest of the paper's tables 3 and 10 is in
// PublishedNpuFigures().

struct PublishedOnemodelFigure {
  int table;
  const char *id, *what;
  double value;
  const char* unit;
  const char* note = "";
};
absl::Span<const PublishedOnemodelFigure> PublishedOnemodelFigures();

// A row of table 6. prompt_chunks is inferred, not in the paper: prefill times are about 1, 2 and 4 times the least.
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

// Lever (tessera_reproduce lever): a row of a table, or figures that the text states for a section or picture.
struct PublishedLeverRow {
  const char* table;           // "table5", "section5.2", "figure12". With `row`, the key of a LeverSeries (lever_shapes.h).
  const char* row;
  double values[6];            // By column; 0 beyond the row's columns.
  const char* source;
  bool counted = true;         // False: shown next to our number, but in no statistic.
};
absl::Span<const PublishedLeverRow> PublishedLeverRows();

// Test-time scaling (tessera_reproduce scaling), except for the head's share, which is in PublishedNpuFigures().
absl::Span<const PublishedFigure> PublishedScalingFigures();

// A model's accuracy with one sample, where the paper's text gives it. The paper's curves of accuracy are only pictures.
struct PublishedAccuracy {
  const char *shape, *set;
  double percent;
  const char* source;
};
absl::Span<const PublishedAccuracy> PublishedBaseAccuracies();

}  // namespace tessera
