// The one-for-all paper, except for the part of its tables 3 and 10 in published.cc. Tables 4 and 8 are of accuracy, on data that are not
// public.
#include "tessera/apps/lab/papers/figures/published.h"

namespace tessera {
namespace {

constexpr char kRank[] = "neither the rank nor the sizes of the model are said";
constexpr char kPrompt[] = "the prompt's length is not said; three chunks are assumed, since this is three times table 2's 52 ms";
constexpr char kOther[] = "below tables 1 and 2: of which graph table 10 is, is not said";

constexpr PublishedOnemodelFigure kFigures[] = {
    {1, "004-base-graphs", "graphs, no adapter", 2, ""},
    {1, "004-base-size", "size, no adapter", 718, "MB"},
    {1, "004-base-first", "first token, no adapter", 45, "ms"},
    {1, "004-base-step", "step, no adapter", 22, "ms"},
    {1, "004-graph-graphs", "graphs, graphs per task", 4, ""},
    {1, "004-graph-size", "size, graphs per task", 1100, "MB"},
    {1, "004-graph-first", "first token, graphs per task", 45, "ms"},
    {1, "004-graph-step", "step, graphs per task", 22, "ms"},
    {2, "004-mask-size", "size, adapters behind a mask", 894, "MB", kRank},
    {2, "004-mask-first", "first token, adapters behind a mask", 75, "ms"},
    {2, "004-mask-step", "step, adapters behind a mask", 30, "ms"},
    {2, "004-input-size", "size, adapters as inputs", 686, "MB", "less than the 718 MB without adapters, which is not explained"},
    {2, "004-input-first", "first token, adapters as inputs", 52, "ms"},
    {2, "004-input-step", "step, adapters as inputs", 25, "ms"},
    {3, "004-total-1-formula", "8 answers one by one, by the table's own formula", 224, "ms"},
    {5, "004-1b-peak", "peak memory", 967, "MB"},
    {5, "004-1b-load", "load", 624.1, "ms"},
    {5, "004-1b-first", "first token", 155.9, "ms", kPrompt},
    {5, "004-1b-token", "token", 24.19, "ms"},
    {5, "004-1b-rate", "tokens per second", 41.32, "1/s"},
    {5, "004-1b-total", "end to end", 2.85, "s", "how long the answer is, and whether loading is in it, is not said"},
    {9, "004-rom-half", "model in FP16", 1800, "MB", kRank},
    {9, "004-rom-int4", "model in INT4", 600, "MB", "tables 1 and 2 have 718 and 686 MB"},
    {9, "004-rom-adapters", "adapters of 4 tasks", 120, "MB", kRank},
    {10, "004-split-first", "first token, B split per head", 45.9, "ms", kOther},
    {10, "004-split-step", "step, B split per head", 19.45, "ms", kOther},
    {10, "004-composite-first", "first token, B composite", 45.8, "ms", kOther},
    {10, "004-composite-step", "step, B composite", 19.385, "ms", kOther},
};

constexpr const char* kBranchTasks[] = {"Correction", "Composer", "Style", "Health", "Summarization", "Gallery", "ST Energy", "AI Brief"};

}  // namespace

absl::Span<const PublishedOnemodelFigure> PublishedOnemodelFigures() { return kFigures; }

absl::Span<const PublishedUseCase> PublishedUseCases() {
  static constexpr PublishedUseCase kCases[] = {
      {"Correction", 208.72, 50.17, 22.3, 19.93, 44.84, 2463.44, 1507.96, 1},
      {"Composer", 209.57, 53.23, 28.57, 18.79, 35.00, 2468.51, 1499, 1},
      {"Style", 209.34, 50.42, 25.21, 19.83, 39.67, 2465.42, 1534.27, 1},
      {"Health", 210.7, 51.92, 28.77, 19.26, 34.76, 2468.52, 1551.98, 1},
      {"Summarization", 797.22, 52.91, 24.12, 18.90, 41.46, 2486.98, 1576.78, 4},
      {"Natural Language", 209.8, 51.87, 23.64, 19.28, 42.30, 2480.09, 1547.54, 1},
      {"ST Energy", 210.77, 52.76, 33.48, 18.95, 29.87, 2486.3, 1487.4, 1},
      {"AI Brief", 404.88, 52.85, 37.75, 18.92, 26.49, 2484.68, 1509.68, 2}};
  return kCases;
}

absl::Span<const PublishedBranches> PublishedBranchTable() {
  static constexpr PublishedBranches kRows[] = {
      {"15",
       {1.7, 1.72, 1.7, 1.54, 1.76, 1.59, 1.45, 1.57},
       {39.26, 40.35, 39.27, 36.05, 40.82, 36.84, 33.88, 36.46}},
      {"1,8",
       {2.05, 1.51, 1.81, 1.31, 1.7, 1.49, 1.08, 1.32},
       {45.88, 35.47, 41.38, 30.69, 39.07, 34.45, 25.49, 30.91}},
      {"2,3",
       {2.14, 1.56, 1.94, 1.37, 1.74, 1.63, 1.21, 1.45},
       {47.69, 36.57, 43.85, 31.98, 39.8, 37.32, 28.51, 33.44}},
      {"3,2",
       {2.13, 1.6, 1.96, 1.41, 1.8, 1.58, 1.25, 1.5},
       {47.94, 37.61, 44.47, 33.09, 41.34, 36.38, 29.35, 34.74}},
      {"4,1",
       {2.02, 1.62, 1.85, 1.48, 1.77, 1.52, 1.3, 1.48},
       {45.31, 37.83, 42.05, 34.5, 40.37, 35.15, 30.31, 34.09}},
      {"1,1,5",
       {2.25, 1.39, 1.84, 1.24, 1.58, 1.35, 1.07, 1.27},
       {49.44, 32.32, 41.51, 28.99, 35.98, 31.27, 25.13, 29.33}},
      {"1,2,2",
       {2.27, 1.43, 1.92, 1.25, 1.67, 1.43, 1.07, 1.31},
       {49.6, 33.24, 43.13, 29.1, 37.98, 32.86, 25.02, 30.25}},
      {"2,1,1",
       {2, 1.49, 1.8, 1.32, 1.64, 1.46, 1.21, 1.43},
       {44.55, 34.36, 40.58, 30.48, 37.43, 33.39, 27.92, 32.92}},
      {"1,1,1,2",
       {2.14, 1.37, 1.81, 1.24, 1.53, 1.35, 1.07, 1.26},
       {46.95, 31.57, 40.47, 28.69, 33.82, 29.56, 23.87, 28.39}}};
  return kRows;
}

absl::Span<const char* const> PublishedBranchTasks() { return kBranchTasks; }

}  // namespace tessera
