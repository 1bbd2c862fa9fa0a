#include "tessera/npu/switch_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kMostSearched = 24;       // Candidates that are planned by a search, which takes some milliseconds each.
constexpr double kAsGood = 1 + 1e-9;       // Differences below this are rounding.

template <typename T>
absl::Status CheckWithin(absl::string_view name, T found, T least, T most) {
  if (found >= least && found <= most) return absl::OkStatus();   // A NaN is in no range.
  return absl::InvalidArgumentError(absl::StrCat("switching: ", name, ": found ", found, ", expected ", least, " to ", most));
}

absl::Status CheckTimes(absl::string_view name, const GraphTimes& graph, const std::vector<double>& times, size_t layers) {
  const std::string of = absl::StrCat(name, " of graphs of ", graph.rows, " rows");
  if (times.size() != layers) {
    return absl::InvalidArgumentError(absl::StrCat("switching: ", of, ": found ", times.size(), " layers, expected ", layers));
  }
  for (const double seconds : times) RETURN_IF_ERROR(CheckWithin<double>(of, seconds, 0, kMostSwitchSeconds));
  return absl::OkStatus();
}

absl::StatusOr<const GraphTimes*> GraphOf(absl::Span<const GraphTimes> graphs, absl::string_view name, int rows) {
  std::string all;
  for (const GraphTimes& graph : graphs) {
    if (graph.rows == rows) return &graph;
    absl::StrAppend(&all, all.empty() ? "" : ", ", graph.rows);
  }
  return absl::InvalidArgumentError(absl::StrCat("switching: ", name, ": found ", rows, ", expected rows of graphs: ", all));
}

double Sum(const std::vector<double>& times) { return std::accumulate(times.begin(), times.end(), 0.0); }

// One way to cut and to compile the model, with the known times of the prompt.
struct Candidate {
  const GraphTimes* prefill = nullptr;
  const GraphTimes* decode = nullptr;
  std::vector<int> ends = {};
  std::vector<SwitchTimes> times = {};
  SwitchPrompt prompt = {};
  double prompt_seconds = 0, decode_seconds = 0;
  double seconds() const { return prompt_seconds + decode_seconds; }
  // No plan ends sooner: loads follow one another, and so do chunks.
  double LeastPromptSeconds() const {
    double compute = 0, load = 0;
    for (const SwitchTimes& block : times) {
      const int last = prompt.last_sub_chunks > 0 ? prompt.last_sub_chunks : prompt.sub_chunks;
      compute += (prompt.chunks - 1) * std::min(block.prefill_seconds, prompt.sub_chunks * block.decode_seconds) +
                 std::min(block.prefill_seconds, last * block.decode_seconds);
      load += block.load_seconds;
    }
    return std::max(compute, load);
  }
};

absl::StatusOr<double> PromptSeconds(const Candidate& candidate, SwitchRule rule) {
  ASSIGN_OR_RETURN(const SwitchPlan plan, PlanSwitch(candidate.times, candidate.prompt, rule));
  ASSIGN_OR_RETURN(const SwitchOutcome outcome, SimulateSwitch(candidate.times, candidate.prompt, plan));
  return outcome.total_seconds();
}

class Chooser {
 public:
  Chooser(absl::Span<const GraphTimes> graphs, const SwitchQuestion& question)
      : graphs_(graphs), question_(question), layers_(static_cast<int>(graphs.front().run_seconds.size())) {}

  absl::StatusOr<SwitchChoice> Choose() && {
    RETURN_IF_ERROR(CheckWithin("blocks", question_.blocks, 0, std::min(layers_, kMostSwitchBlocks)));
    RETURN_IF_ERROR(CheckWithin("tokens of a prompt", question_.prompt_tokens, 1, kMostSwitchTokens));
    RETURN_IF_ERROR(CheckWithin("passes that decode", question_.decode_passes, 0, kMostSwitchTokens));
    RETURN_IF_ERROR(CheckWithin("rows of a pass", question_.pass_rows, 1, kMostGraphRows));
    for (const int prefill : question_.prefill_rows) {
      for (const int decode : question_.decode_rows) {
        if (decode <= prefill) RETURN_IF_ERROR(AddRows(prefill, decode));
      }
    }
    if (candidates_.empty()) {
      return absl::InvalidArgumentError("switching: found no rows to choose from, expected a decode graph as small as a prefill graph");
    }
    if (question_.rule == SwitchRule::kPlanned) RETURN_IF_ERROR(Search());
    return ChoiceOf(Best());
  }

 private:
  absl::Status AddRows(int prefill_rows, int decode_rows) {
    ASSIGN_OR_RETURN(const GraphTimes* const prefill, GraphOf(graphs_, "prefill_rows", prefill_rows));
    ASSIGN_OR_RETURN(const GraphTimes* const decode, GraphOf(graphs_, "decode_rows", decode_rows));
    std::vector<double> weights;
    for (size_t layer = 0; layer < static_cast<size_t>(layers_); ++layer) {   // The fixed part of a block's load belongs to no layer.
      weights.push_back(prefill->run_seconds[layer] + decode->load_seconds[layer] - decode->fixed_seconds);
    }
    const int first = std::max(question_.blocks, 1), last = question_.blocks > 0 ? first : std::min(layers_, kMostSwitchBlocks);
    for (int blocks = first; blocks <= last; ++blocks) {
      const std::vector<int> equal = EqualShares(layers_, blocks), balanced = BalancedShares(weights, blocks);
      RETURN_IF_ERROR(Add(*prefill, *decode, equal));
      if (balanced != equal) RETURN_IF_ERROR(Add(*prefill, *decode, balanced));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const GraphTimes& prefill, const GraphTimes& decode, const std::vector<int>& ends) {
    Candidate candidate = {.prefill = &prefill, .decode = &decode, .ends = ends, .times = TimesOfBlocks(prefill, decode, ends),
                           .prompt = PromptOf(question_.prompt_tokens, prefill.rows, decode.rows)};
    const GraphTimes& decodes = question_.rule == SwitchRule::kPadded ? prefill : decode;
    const int64_t runs = CeilDiv(question_.pass_rows, decodes.rows);
    candidate.decode_seconds = question_.decode_passes * static_cast<double>(runs) * Sum(decodes.run_seconds);
    if (question_.rule != SwitchRule::kPlanned) {
      ASSIGN_OR_RETURN(candidate.prompt_seconds, PromptSeconds(candidate, question_.rule));
    } else {   // Planned is never later than these.
      candidate.prompt_seconds = std::numeric_limits<double>::infinity();
      for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished}) {
        ASSIGN_OR_RETURN(const double seconds, PromptSeconds(candidate, rule));
        candidate.prompt_seconds = std::min(candidate.prompt_seconds, seconds);
      }
    }
    candidates_.push_back(std::move(candidate));
    return absl::OkStatus();
  }

  // Plans the best candidates so far, except candidates whose best possible plan could not win.
  absl::Status Search() {
    std::vector<size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto sooner = [this](size_t a, size_t b) { return candidates_[a].seconds() < candidates_[b].seconds(); };
    std::stable_sort(order.begin(), order.end(), sooner);
    order.resize(std::min(order.size(), kMostSearched));
    double best = candidates_[order.front()].seconds();
    for (const size_t index : order) {
      Candidate& candidate = candidates_[index];
      if (candidate.LeastPromptSeconds() + candidate.decode_seconds > best * kAsGood) continue;
      ASSIGN_OR_RETURN(candidate.prompt_seconds, PromptSeconds(candidate, SwitchRule::kPlanned));
      best = std::min(best, candidate.seconds());
    }
    return absl::OkStatus();
  }

  const Candidate& Best() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : candidates_) least = std::min(least, candidate.seconds());
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates_) {
      if (candidate.seconds() > least * kAsGood) continue;
      if (best == nullptr || candidate.ends.size() < best->ends.size()) best = &candidate;
    }
    return *best;
  }

  static SwitchChoice ChoiceOf(const Candidate& best) {
    return {.prefill_rows = best.prefill->rows, .decode_rows = best.decode->rows, .ends = best.ends, .times = best.times,
            .prompt_seconds = best.prompt_seconds, .decode_seconds = best.decode_seconds};
  }

  const absl::Span<const GraphTimes> graphs_;
  const SwitchQuestion& question_;
  const int layers_;
  std::vector<Candidate> candidates_ = {};   // For each pair of rows, in order of the number of blocks.
};

}  // namespace

absl::Status CheckGraphTimes(absl::Span<const GraphTimes> graphs) {
  if (graphs.empty()) return absl::InvalidArgumentError("switching: found no graphs, expected some");
  const size_t layers = graphs.front().run_seconds.size();
  RETURN_IF_ERROR(CheckWithin<size_t>("layers", layers, 1, kMostSwitchLayers));
  int least = 1;
  for (const GraphTimes& graph : graphs) {
    RETURN_IF_ERROR(CheckWithin("rows of a graph", graph.rows, least, kMostGraphRows));
    least = graph.rows + 1;
    RETURN_IF_ERROR(CheckTimes("run_seconds", graph, graph.run_seconds, layers));
    RETURN_IF_ERROR(CheckTimes("load_seconds", graph, graph.load_seconds, layers));
    const double least_load = *std::min_element(graph.load_seconds.begin(), graph.load_seconds.end());
    const std::string fixed = absl::StrCat("fixed_seconds of graphs of ", graph.rows, " rows");
    RETURN_IF_ERROR(CheckWithin<double>(fixed, graph.fixed_seconds, 0, least_load));
  }
  return absl::OkStatus();
}

absl::StatusOr<SwitchChoice> ChooseSwitch(absl::Span<const GraphTimes> graphs, const SwitchQuestion& question) {
  RETURN_IF_ERROR(CheckGraphTimes(graphs));
  return Chooser(graphs, question).Choose();
}

SwitchPrompt PromptOf(int tokens, int prefill_rows, int decode_rows) {
  const int chunks = static_cast<int>(CeilDiv(tokens, prefill_rows)), rest = tokens - (chunks - 1) * prefill_rows;
  return {.chunks = chunks,
          .sub_chunks = static_cast<int>(CeilDiv(prefill_rows, decode_rows)),
          .last_sub_chunks = static_cast<int>(CeilDiv(rest, decode_rows))};
}

std::vector<int> EqualShares(int layers, int blocks) {
  std::vector<int> ends;
  for (int block = 0; block < blocks; ++block) ends.push_back(layers * (block + 1) / blocks);
  return ends;
}

// least[n][l]: the longest of n blocks over the first l layers, as short as can be.
std::vector<int> BalancedShares(absl::Span<const double> seconds, int blocks) {
  const size_t layers = seconds.size(), count = static_cast<size_t>(blocks);
  std::vector<double> before(layers + 1, 0);
  for (size_t l = 0; l < layers; ++l) before[l + 1] = before[l] + seconds[l];
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(count + 1, std::vector<double>(layers + 1, kNone));
  std::vector<std::vector<size_t>> begin(count + 1, std::vector<size_t>(layers + 1, 0));
  least[0][0] = 0;
  for (size_t n = 1; n <= count; ++n) {
    for (size_t l = n; l <= layers; ++l) {
      for (size_t from = n - 1; from < l; ++from) {
        const double longest = std::max(least[n - 1][from], before[l] - before[from]);
        if (longest >= least[n][l]) continue;
        least[n][l] = longest;
        begin[n][l] = from;
      }
    }
  }
  std::vector<int> ends(count);
  size_t end = layers;
  for (size_t n = count; n >= 1; --n) {
    ends[n - 1] = static_cast<int>(end);
    end = begin[n][end];
  }
  return ends;
}

std::vector<SwitchTimes> TimesOfBlocks(const GraphTimes& prefill, const GraphTimes& decode, absl::Span<const int> ends) {
  std::vector<SwitchTimes> times;
  int layer = 0;
  for (const int end : ends) {
    SwitchTimes block = {.load_seconds = decode.fixed_seconds, .return_seconds = prefill.fixed_seconds};
    for (; layer < end; ++layer) {
      const size_t l = static_cast<size_t>(layer);
      block.prefill_seconds += prefill.run_seconds[l];
      block.decode_seconds += decode.run_seconds[l];
      block.load_seconds += decode.load_seconds[l] - decode.fixed_seconds;
      block.return_seconds += prefill.load_seconds[l] - prefill.fixed_seconds;
    }
    times.push_back(block);
  }
  return times;
}

}  // namespace tessera
