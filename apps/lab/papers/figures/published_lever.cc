#include "tessera/apps/lab/papers/figures/published.h"

namespace tessera {
namespace {

constexpr char kTable1[] = "002, table 1", kTable2[] = "002, table 2", kTable5[] = "002, table 5", kTable6[] = "002, table 6";
constexpr char kTable7[] = "002, table 7";

constexpr PublishedLeverRow kRows[] = {
    {"section5.2", "Lever over", {2.93, 1.50, 1.27}, "002, section 5.2"},
    {"table1", "Llama-3.1-8B", {93.2, 990.6, 1083.8}, kTable1, /*counted=*/false},
    {"table1", "Qwen3-4B", {131.5, 474.4, 605.9}, kTable1, /*counted=*/false},
    {"table1", "Qwen3-8B", {96.6, 953.4, 1050.0}, kTable1, /*counted=*/false},
    {"table1", "Qwen3-14B", {141.2, 1967.1, 2108.3}, kTable1, /*counted=*/false},
    {"table2", "Llama-3.1-8B, 16", {828, 188, 22.7}, kTable2},
    {"table2", "Llama-3.1-8B, 32", {1255, 256, 20.4}, kTable2},
    {"table2", "Qwen3-8B, 16", {817, 183, 22.4}, kTable2},
    {"table2", "Qwen3-8B, 32", {1229, 249, 20.3}, kTable2},
    {"table5", "EAGLE3, Chain-SD", {1.296, 1.222, 1.108, 1.206}, kTable5},
    {"table5", "EAGLE3, EdgeLLM", {1.434, 1.382, 1.283, 1.365}, kTable5},
    {"table5", "EAGLE3, Lever", {1.753, 1.741, 1.516, 1.666}, kTable5},
    {"table5", "Qwen3 (0.6B), Chain-SD", {0.860, 0.840, 0.820, 0.840}, kTable5},
    {"table5", "Qwen3 (0.6B), EdgeLLM", {1.010, 0.940, 0.890, 0.945}, kTable5},
    {"table5", "Qwen3 (0.6B), Lever", {1.250, 1.220, 1.110, 1.192}, kTable5},
    {"table6", "Q8 / MBPP", {1.753, 2.010, 2.473, 2.812, 3.120, 3.401}, kTable6},
    {"table6", "L8 / MBPP", {2.918, 3.704, 4.214, 4.619, 4.922, 5.494}, kTable6},
    {"table6", "Q8 / GSM8K", {1.741, 1.996, 2.453, 2.791, 3.099, 3.377}, kTable6},
    {"table6", "L8 / GSM8K", {2.225, 2.821, 3.203, 3.508, 3.736, 4.194}, kTable6},
    {"table7", "Q8 / MBPP", {1.768, 1.772, 1.753, 1.741, 1.712}, kTable7},
    {"table7", "L8 / MBPP", {3.082, 3.110, 2.918, 2.890, 2.854}, kTable7},
    {"table7", "Q8 / GSM8K", {1.756, 1.760, 1.741, 1.729, 1.681}, kTable7},
    {"table7", "L8 / GSM8K", {2.349, 2.371, 2.225, 2.204, 2.173}, kTable7},
    {"figure12", "Lever", {48, 12.2, 95}, "002, section 5.3"}};

}  // namespace

absl::Span<const PublishedLeverRow> PublishedLeverRows() { return kRows; }

}  // namespace tessera
