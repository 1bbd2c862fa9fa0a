#include "tessera/apps/lab/papers/figures/published.h"

namespace tessera {
namespace {

using Kind = PublishedFigure::Kind;
using Use = PublishedFigure::Use;

constexpr char kSums[] = "its own formula, (23 x 8) + 40, gives 224";
constexpr char kPerStep[] = "with 4.2 tokens accepted this would be 672 ms per pass, against less than 256 ms for the same graph in the "
                            "same figure: right only per step";
constexpr char kSwitches[] = "the two papers on one system contradict each other: 94.9 % of a whole request, 29.0 % of its decoding";
constexpr char kDrafts[] = "needs what drafters do";

constexpr PublishedFigure kFigures[] = {
    {"001-softmax-float", "softmax by table over FP32 exp", Kind::kRange, 1.26, 2.19, "times", "001, section 7.4"},
    {"001-softmax-half", "softmax by table over FP16 exp, up to", Kind::kValue, 1.60, 1.60, "times", "001, section 7.4"},
    {"001-gemv-baseline", "GEMV over common groups", Kind::kRange, 9.65, 19.04, "times", "001, section 7.4"},
    {"001-gemv-layout", "GEMV over tile groups alone", Kind::kRange, 1.82, 3.45, "times", "001, section 7.4"},
    {"001-head-share", "share of the head on the CPU, 16 rows, about", Kind::kValue, 50, 50, "%", "001, section 7.2.2"},
    {"000-verify-32", "verifying 32 drafts", Kind::kValue, 5.7, 5.7, "ms per token", "000, section 2.3, figure 6"},
    {"000-prefill-32", "prefill by chunks of 32", Kind::kAtMost, 8, 8, "ms per token", "000, section 2.3, figure 5"},
    {"000-decode-32", "decoding on the same graph", Kind::kValue, 160, 160, "ms per token", "000, section 2.3, figure 5",
     Use::kContradicted, kPerStep},
    {"000-switch-delay", "delay by switching graphs", Kind::kValue, 94.9, 94.9, "%", "000, section 1", Use::kContradicted, kSwitches},
    {"003-switch-share", "share of switching in decoding", Kind::kValue, 29.0, 29.0, "%", "003, section 3.1", Use::kContradicted,
     kSwitches},
    {"000-ablation-npu", "NPU", Kind::kValue, 57.41, 57.41, "ms per token", "000 and 003, table 3"},
    {"000-ablation-graph", "+G", Kind::kValue, 47.72, 47.72, "ms per token", "000 and 003, table 3"},
    {"000-ablation-drafts", "+SD", Kind::kValue, 35.04, 35.04, "ms per token", "000 and 003, table 3", Use::kElsewhere, kDrafts},
    {"000-ablation-both", "+G+SD", Kind::kValue, 25.35, 25.35, "ms per token", "000 and 003, table 3", Use::kElsewhere, kDrafts},
    {"000-ablation-ours", "sd.npu", Kind::kValue, 15.08, 15.08, "ms per token", "000 and 003, table 3", Use::kElsewhere, kDrafts},
    {"003-decode-share", "share of decoding by the NPU", Kind::kRange, 67, 74, "%", "003, section 5.4"},
    {"003-decode-cut", "decoding cut by sd.npu", Kind::kRange, 5.25, 8.15, "times", "003, section 5.4", Use::kElsewhere, kDrafts},
    {"000-cpu-share-qa", "share of decoding by the CPU, questions", Kind::kValue, 90.2, 90.2, "%", "000, section 2.1"},
    {"000-cpu-share-summary", "share of decoding by the CPU, summaries", Kind::kValue, 87.2, 87.2, "%", "000, section 2.1"},
    {"000-drafts-8", "drafts shorter than 8", Kind::kAtLeast, 75, 75, "%", "000, section 1", Use::kElsewhere, kDrafts},
    {"003-drafts-32", "drafts shorter than 32", Kind::kAtLeast, 90, 90, "%", "003, section 3.2", Use::kElsewhere, kDrafts},
    {"003-wasted", "computing wasted on rejected drafts", Kind::kValue, 22, 22, "%", "003, section 3.2", Use::kElsewhere, kDrafts},
    {"003-underutilized", "computing on empty rows", Kind::kValue, 75, 75, "%", "003, section 3.2", Use::kElsewhere, kDrafts},
    {"003-memory-ours", "memory, sd.npu", Kind::kValue, 3.14, 3.14, "GB", "003, section 5.3"},
    {"003-memory-base", "memory, NPU", Kind::kRange, 3.05, 3.12, "GB", "003, section 5.3"},
    {"003-memory-cpu", "memory, NPU and CPU, over", Kind::kAtLeast, 6, 6, "GB", "003, section 5.3"},
    {"004-step-1", "a step of one stream", Kind::kValue, 23, 23, "ms", "004, table 3"},
    {"004-step-8", "a step of 8 streams", Kind::kValue, 23, 23, "ms", "004, table 3"},
    {"004-prefill", "prefill", Kind::kValue, 40, 40, "ms", "004, table 3"},
    {"004-total-1", "8 answers one by one", Kind::kValue, 174, 174, "ms", "004, table 3", Use::kCounted, kSums},
    {"004-total-8", "8 answers at once", Kind::kValue, 63, 63, "ms", "004, table 3"},
    {"004-folded-first", "first token, scalars folded, keys transposed", Kind::kValue, 45.8, 45.8, "ms", "004, table 10"},
    {"004-folded-step", "step, scalars folded, keys transposed", Kind::kValue, 19.385, 19.385, "ms", "004, table 10"},
    {"004-unfolded-first", "first token, scalars not folded", Kind::kValue, 47.3, 47.3, "ms", "004, table 10"},
    {"004-unfolded-step", "step, scalars not folded", Kind::kValue, 20.51, 20.51, "ms", "004, table 10"},
    {"004-untransposed-first", "first token, keys not transposed", Kind::kValue, 52, 52, "ms", "004, table 10"},
    {"004-untransposed-step", "step, keys not transposed", Kind::kValue, 23, 23, "ms", "004, table 10"},
};

constexpr PublishedFact kFacts[] = {
    {"breakdown", "decoding's share of NPU vanilla", "67 to 74 %", "000, section 4.4"},
    {"breakdown", "decoding cut by sd.npu", "5.25 to 8.15 times", "000, section 4.4"},
    {"breakdown", "decoding's share of CPU vanilla, summary", "87.2 %", "000, section 2.1, Qwen2.5-1.5B"},
    {"breakdown", "decoding's share of CPU vanilla, rag", "90.2 %", "000, section 2.1, Qwen2.5-1.5B"},
    {"chunks", "reading by chunks of 32", "less than 8 ms per token", "000, section 2.3, figure 5"},
    {"chunks", "decoding on the same graph, with 4.2 tokens per pass", "about 160 ms per token", "000, section 2.3, figure 5",
     "with the 8 ms beside it, it can only be a pass, not a token"},
    {"lengths", "a draft of 1", "51.1 ms per token", "000, section 2.3, figure 6"},
    {"lengths", "a draft of 32", "5.7 ms per token", "000, section 2.3, figure 6"},
    {"tasks", "NPU vanilla over sd.npu", "1.14 to 3.81 times", "000, section 4.2"},
    {"tasks", "CPU vanilla over sd.npu", "1.06 to 1.78 times", "000, section 4.2"},
    {"tasks", "SAM over sd.npu", "1.11 to 2.53 times", "000, section 4.2"},
    {"tasks", "EAGLE over sd.npu", "1.09 to 1.80 times", "000, section 4.2"},
    {"tasks", "CPU vanilla over CPU-SAM", "0.92 to 1.13 times", "000, section 4.2"},
    {"tasks", "CPU vanilla over CPU-EAGLE", "0.56 to 1.18 times", "000, section 4.2"},
    {"energy", "NPU vanilla over sd.npu", "1.35 to 4.18 times", "000, section 4.2"},
    {"energy", "CPU vanilla over sd.npu", "1.11 to 2.50 times", "000, section 4.2"},
    {"energy", "SAM over sd.npu", "1.07 to 3.07 times", "000, section 4.2"},
    {"energy", "EAGLE over sd.npu", "1.77 to 4.71 times", "000, section 4.2"},
    {"energy", "a request of Qwen2.5-1.5B", "53.85 and 56.52 J", "000, section 4.2",
     "joules are not claimed: powers of the parts are assumed"},
    {"memory", "sd.npu, Qwen2.5-1.5B", "3.14 GB", "000, section 4.3"},
    {"memory", "NPU vanilla, Qwen2.5-1.5B", "3.05 to 3.12 GB", "000, section 4.3"},
    {"memory", "CPU vanilla, Qwen2.5-1.5B", "more than 6 GB", "000, section 4.3"},
    {"memory", "sd.npu more than NPU vanilla", "less than 500 MB", "000, section 4.3",
     "the database of the drafter, which is not modeled"},
    {"memory", "EAGLE's draft model", "0.84 to 1.22 GB", "000, section 4.3"},
    {"rows", "wasted", "22 %", "003, section 3.2"},
    {"rows", "underutilized", "75 %", "003, section 3.2"},
    {"rows", "wasted and underutilized that became valid", "70.5 %", "003, section 1"},
    {"rows", "drafts shorter than 8", "more than 75 %", "000, section 1"},
    {"rows", "drafts shorter than 32", "more than 90 %", "003, section 3.2", "ours are cut at 31 and the root: all of them"},
    {"rejected", "missing, synonym, redundant", "15.4, 23.1, 61.5 %", "000, table 2",
     "labelled by hand, by sense, on one case of summarization; ours are counted by tokens alone"},
    {"switches", "switching's delay of the end-to-end latency", "94.9 %", "000, section 1", "contradicts the next: shown, not counted"},
    {"switches", "switching's share of decoding, 1K of context", "29.0 %", "003, section 3.1", "contradicts the one before"},
    {"switches", "decoding with a padded prefill graph", "up to 8 times slower", "003, section 3.1"}};

}  // namespace

absl::Span<const PublishedFigure> PublishedNpuFigures() { return kFigures; }

absl::Span<const PublishedAblation> PublishedAblations() {
  static constexpr PublishedAblation kRows[] = {{"qwen2.5-1.5b", 57.41, 47.72, 35.04, 25.35, 15.08},
                                                {"qwen2.5-0.5b", 24.46, 23.43, 18.75, 18.45, 7.17},
                                                {"llama-3.2-3b", 71.71, 70.03, 47.93, 46.25, 41.62}};
  return kRows;
}

absl::Span<const PublishedAcceptance> PublishedAcceptances() {
  static constexpr PublishedAcceptance kRows[] = {
      {"summary", "lookup", 2.53, 1.42}, {"summary", "lookup+ours", 2.91, 1.70}, {"summary", "sam", 3.60, 1.68},
      {"summary", "sam+ours", 4.21, 2.07}, {"rag", "lookup", 3.19, 1.77}, {"rag", "lookup+ours", 3.73, 2.11},
      {"rag", "sam", 4.42, 2.25}, {"rag", "sam+ours", 5.47, 2.66}, {"ui", "lookup", 2.28, 1.57},
      {"ui", "lookup+ours", 2.64, 1.82}, {"ui", "sam", 3.56, 1.72}, {"ui", "sam+ours", 4.01, 2.05},
      {"reply", "lookup", 2.53, 1.49}, {"reply", "lookup+ours", 3.17, 1.72}, {"reply", "sam", 3.57, 1.79},
      {"reply", "sam+ours", 3.82, 2.18}};
  return kRows;
}

absl::Span<const PublishedFact> PublishedSdnpuFacts() { return kFacts; }

}  // namespace tessera
