#include "tessera/apps/reproduce/published_npu.h"

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

}  // namespace

absl::Span<const PublishedFigure> PublishedNpuFigures() { return kFigures; }

}  // namespace tessera
