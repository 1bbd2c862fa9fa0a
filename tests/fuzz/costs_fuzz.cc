// Cost profiles: a file is refused in words that name it, or its times for rows, leaves and texts are finite, never less with more of
// them, and the same after saving and reading again. The same holds for a profile that is learnt from passes of any shape and time. Rows
// are chosen by both.
//
// An input's first byte says whether a file follows, or measured times.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "glog/logging.h"
#include "tessera/base/random.h"
#include "tessera/spec/policies/row_policy.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kName[] = "costs.json";
constexpr int kFile = 0, kMeasured = 1, kKinds = 2;
constexpr int kMostRows = CostProfile::kMostRows + 6;   // Beyond which all are the same.
constexpr double kRounding = 1e-3;                      // Six digits are saved, of which slopes over few rows lose some.

void CheckSeconds(double seconds) { CHECK(std::isfinite(seconds) && seconds >= 0) << seconds; }

void CheckNear(double found, double expected, double share) {
  CHECK_LE(std::abs(found - expected), share * expected + std::numeric_limits<double>::min()) << found << ", not " << expected;
}

void CheckCurves(const CostProfile& costs) {
  for (int rows = 1; rows <= kMostRows; ++rows) {
    for (const int leaves : {1, 2, rows}) {
      const double seconds = costs.PassSeconds({rows, leaves});
      CheckSeconds(seconds);
      CHECK_LE(seconds, costs.PassSeconds({rows + 1, leaves}));
      CHECK_LE(seconds, costs.PassSeconds({rows, leaves + 1}));
      CHECK_LE(seconds, costs.PassSeconds({rows, leaves + 1, 2}));
    }
    CheckSeconds(costs.HeadSeconds(rows));
    CheckSeconds(costs.TopSeconds(rows));
    CHECK_LE(costs.HeadSeconds(rows), costs.HeadSeconds(rows + 1));
  }
  if (costs.KnowsPlain()) CHECK(costs.PassSeconds({}) > 0 && costs.HeadSeconds(1) > 0);
}

std::vector<std::string> DraftersOf(const CostProfile& costs) {
  const auto file = JsonValue::Parse(costs.ToJson(), kName);
  CHECK(file.ok()) << file.status();
  const JsonValue drafters = *file->Array("drafters");
  std::vector<std::string> names;
  for (int64_t i = 0; i < drafters.size(); ++i) names.push_back(*drafters[i].String("name"));
  return names;
}

// That one says what the other does, but for a share of it.
void CheckSame(const CostProfile& found, const CostProfile& expected, double share) {
  for (int rows = 1; rows <= kMostRows; ++rows) {
    for (const int leaves : {1, rows}) CheckNear(found.PassSeconds({rows, leaves}), expected.PassSeconds({rows, leaves}), share);
    CheckNear(found.PassSeconds({rows, rows, rows}), expected.PassSeconds({rows, rows, rows}), share);
    CheckNear(found.HeadSeconds(rows), expected.HeadSeconds(rows), share);
  }
  CheckNear(found.TopSeconds(1), expected.TopSeconds(1), share);
  CHECK(DraftersOf(found) == DraftersOf(expected));
  for (const std::string& name : DraftersOf(expected)) {
    CheckSeconds(found.DraftSeconds(name));
    CheckNear(found.DraftSeconds(name), expected.DraftSeconds(name), share);
  }
}

// Saved, and read again twice: once rounded, nothing changes any more.
CostProfile SavedAndLoaded(const CostProfile& costs) {
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  const std::string path = folder.Path(kName);
  const absl::Status saved = costs.Save(path);
  CHECK(saved.ok()) << saved;
  const auto loaded = CostProfile::Load(path);
  CHECK(loaded.ok()) << loaded.status();
  CHECK(loaded->frozen() && loaded->KnowsPlain());
  CheckCurves(*loaded);
  const auto again = CostProfile::Parse(loaded->ToJson(), kName);
  CHECK(again.ok()) << again.status();
  CheckSame(*again, *loaded, 0);
  return *loaded;
}

TokenTree RandomTree(SeededRandom& random) {
  TokenTree tree(0);
  const int64_t nodes = random.Below(48), wide = 1 + random.Below(8);   // 1: a chain.
  for (int64_t i = 0; i < nodes; ++i) {
    const int parent = tree.size() - 1 - static_cast<int>(random.Below(std::min<int64_t>(wide, tree.size())));
    tree.Add(parent, static_cast<TokenId>(random.Below(wide)), static_cast<float>(1 + random.Below(1000)) / 1000);
  }
  return tree;
}

// The tree of the chosen rows, which have their parents.
TokenTree CheckChoice(const TokenTree& tree, const RowChoice& choice) {
  std::vector<bool> there(tree.size());
  there[TokenTree::kRoot] = true;
  for (const int node : choice.nodes) {
    CHECK(there[tree[node].parent] && !there[node]) << "node " << node;
    there[node] = true;
  }
  const TokenTree rows = tree.Pick(choice.nodes);
  CHECK_EQ(choice.leaves, rows.Leaves());
  double tokens = 0;
  for (const float reached : rows.PathProbabilities()) tokens += reached;
  CheckNear(choice.tokens, tokens, 1e-5);
  CHECK(std::isfinite(choice.seconds) && choice.seconds > 0) << choice.seconds;
  return rows;
}

// Rows are no worse than none.
void CheckRows(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits) {
  const RowChoice choice = ChooseRows(tree, costs, limits);
  const TokenTree rows = CheckChoice(tree, choice);
  CHECK_LE(rows.size(), limits.most_rows);
  const double alone = std::max(limits.draft_seconds + costs.PlainSeconds(), std::numeric_limits<double>::min());
  CHECK_GE(choice.tokens * alone, choice.seconds * (1 - 1e-9)) << "the root alone gives more";
  const HeadChoice head = ChooseHeadRows(rows, costs, limits.most_rows);
  CHECK(head.first_rows >= 1 && head.first_rows <= rows.size()) << head.first_rows;
  CHECK(std::isfinite(head.seconds)) << head.seconds;
}

// Rows of several trees in a pass: all fit, whole trees first, and texts are charged for all of it; then pieces of prompts.
void CheckShared(const CostProfile& costs, SeededRandom& random) {
  std::vector<TokenTree> trees;
  for (int64_t count = 1 + random.Below(6); count > 0; --count) trees.push_back(RandomTree(random));
  std::vector<TreeToCut> to_cut;
  for (const TokenTree& tree : trees) to_cut.push_back({&tree, random.Below(4) == 0, costs.DraftSeconds("lookup")});
  const int most_rows = static_cast<int>(trees.size()) + static_cast<int>(random.Below(200));
  const std::vector<RowChoice> choices = ShareRows(to_cut, costs, {.most_rows = most_rows});
  CostProfile::Shape all = choices[0].beside;
  all = {all.rows + choices[0].shape().rows, all.leaves + choices[0].shape().leaves, all.texts + 1};
  CHECK(all.rows <= most_rows && all.texts == static_cast<int>(trees.size())) << all.rows;
  int rows = 0;
  double shares = 0;
  for (size_t i = 0; i < trees.size(); ++i) {
    rows += CheckChoice(trees[i], choices[i]).size();
    CHECK(!to_cut[i].whole || choices[i].shape().rows == trees[i].size() || all.rows == most_rows) << "tree " << i << " is not whole";
    shares += MarginalShare(all, choices[i].shape(), costs);
  }
  CHECK_EQ(rows, all.rows);
  CheckNear(shares, 1, 1e-6);
  const int piece = PromptRows(all, costs, {.most_rows = most_rows - all.rows});
  CHECK(piece >= std::min(1, most_rows - all.rows) && piece <= most_rows - all.rows) << piece;
}

// A stream that says 0 1 2 3 again and again, and takes as long as the costs have it.
void CheckSpeculator(CostProfile costs) {
  costs.Freeze();
  Speculator speculator(*DrafterRegistry::BuiltIn().Make("auto", {.context = 64, .vocabulary = 4}), {.max_rows = 16, .costs = &costs});
  speculator.Begin({{0, 1, 2, 3, 0, 1, 2, 3, 0}});
  for (int steps = 0; steps < 12; ++steps) {
    const TokenTree tree = speculator.Propose({.rows = 32, .depth = 6});
    CHECK(tree.size() <= 16 && tree.Depth() <= 6) << tree.size() << " rows";
    Verdict verdict;
    for (int node = TokenTree::kRoot; node != TokenTree::kNone; node = tree.Child(node, verdict.emitted.back())) {
      verdict.path.push_back(node);
      verdict.emitted.push_back((tree[node].token + 1) % 4);
    }
    const int rows = speculator.logits_plan().first_rows;
    const double pass_seconds = costs.PassSeconds({tree.size(), tree.Leaves()});
    speculator.Commit(tree, verdict, {.pass_seconds = pass_seconds, .first_rows = rows, .first_seconds = costs.HeadSeconds(rows)});
  }
  const SpeculationReport report = speculator.report();
  CHECK(report.Gain().value_or(0) >= 0 && report.PredictedGain() >= 0) << *report.Gain() << ", " << report.PredictedGain() << " expected";
}

void CheckUse(const CostProfile& costs, uint64_t seed) {
  SeededRandom random(seed);
  for (const int most_rows : {1, 16, 48, kMostRows}) {
    CheckRows(RandomTree(random), costs, {.most_rows = most_rows});
    CheckRows(RandomTree(random), costs, {.most_rows = most_rows, .draft_seconds = costs.DraftSeconds("lookup")});
  }
  for (int trial = 0; trial < 4; ++trial) CheckShared(costs, random);
  CheckSpeculator(costs);
}

absl::Status UseFile(const std::string& text) {
  const auto costs = CostProfile::Parse(text, kName);
  if (!costs.ok()) {
    const absl::Status& status = costs.status();
    CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
    CHECK(absl::StartsWith(status.message(), "costs.json: ")) << status;
    return status;
  }
  CHECK(costs->frozen() && costs->KnowsPlain());
  CheckCurves(*costs);
  CheckSame(SavedAndLoaded(*costs), *costs, kRounding);
  CheckUse(*costs, text.size());
  return absl::OkStatus();
}

// Times of clocks that work, from some nanoseconds to a minute, and of those that do not.
double SpellSeconds(FuzzBytes& bytes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {0, -1, std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 1e5, 60};
  const int time = bytes.Below(256);
  return time < 7 ? kOdd[time] : 1e-8 * std::exp2(time / 10.0);
}

// Mostly those of a draft for one text, some of large passes, and some that no pass has.
int SpellRows(FuzzBytes& bytes) {
  const int rows = bytes.Below(72) - 2;
  return rows <= 60 ? rows : 60 * (rows - 60);
}

absl::Status UseMeasured(FuzzBytes bytes) {
  CostProfile costs;
  if (bytes.Below(2) == 1) costs.ExpectFreeRows();
  for (int left = 128; left > 0 && !bytes.empty(); --left) {   // So few do not add up to times that no file may have.
    const int what = bytes.Below(8), rows = SpellRows(bytes), leaves = bytes.Below(24) - 1;
    const double seconds = SpellSeconds(bytes);
    if (what < 4) costs.AddPass({rows, leaves, what < 3 ? 1 : leaves / 2}, seconds);
    if (what == 4 || what == 5) costs.AddHead(rows, seconds);
    if (what == 6) costs.AddTop(rows, seconds);
    if (what == 7) costs.AddDraft(rows < 36 ? "lookup" : "suffix", seconds);
  }
  CheckCurves(costs);
  if (costs.KnowsPlain()) SavedAndLoaded(costs);
  CheckUse(costs, /*seed=*/1);
  return absl::OkStatus();
}

// As tests/data/speculation/flat_costs.json.
constexpr char kFlat[] = R"({"version": 1, "pass": [{"rows": 1, "seconds": 0.01}, {"rows": 64, "seconds": 0.0101}],
 "leaf_seconds": 0, "head": [{"rows": 1, "seconds": 0.001}, {"rows": 64, "seconds": 0.00101}], "top_seconds": 0, "drafters": []})";

// As a program saves it after some passes.
std::string LearntFile() {
  CostProfile costs;
  for (int i = 0; i < 24; ++i) {
    const int rows = 1 + i * i % 17;
    costs.AddPass({.rows = rows, .leaves = 1 + rows / 4}, 0.004 + 0.0007 * rows + 0.0001 * (i % 5));
    costs.AddHead(1 + i % 3, 0.0005 * (1 + i % 3));
  }
  costs.AddTop(3, 0.00004);
  costs.AddDraft("suffix", 0.00002);
  costs.AddDraft("merging", 0.000003);
  return costs.ToJson();
}

// Where the number, string or mark at `begin` ends.
size_t EndOfWord(const std::string& text, size_t begin) {
  if (text[begin] == '"') return text.find('"', begin + 1) + 1;
  const size_t end = text.find_first_of(" \n,:[]{}\"", begin);
  return std::min(std::max(end, begin + 1), text.size());
}

// The file; and for each of its words, the file up to there, and with another in its place.
void AppendSpoiled(const std::string& name, const std::string& text, std::vector<FuzzSeed>* seeds) {
  size_t number = 0;
  const auto add = [&](const std::string& file) {
    seeds->push_back({name + "_" + std::to_string(number++), std::string(1, static_cast<char>(kFile)) + file});
  };
  add(text);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = EndOfWord(text, begin);
    const std::string before = text.substr(0, begin), after = text.substr(end);
    add(before);
    if (end - begin == 1 && !std::isdigit(text[begin])) continue;
    for (const char* other : {"0", "-1", "2", "512", "513", "0.5", "1e4", "1e5", "1e-320", "1e400", "null", "[]", "{}", "\"rows\""}) {
      add(before + other + after);
    }
  }
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  FuzzBytes bytes(input);
  return bytes.Below(kKinds) == kFile ? UseFile(bytes.Rest()) : UseMeasured(bytes);
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  AppendSpoiled("flat", kFlat, &seeds);
  const std::string learnt = LearntFile(), file(1, static_cast<char>(kFile)), measured(1, static_cast<char>(kMeasured));
  seeds.push_back({"learnt", file + learnt});
  seeds.push_back({"twice", file + learnt + learnt});
  seeds.push_back({"no_text", file + "\"\xff\""});
  seeds.push_back({"deep", file + std::string(100, '[')});
  std::string values = "[0";
  for (int i = 0; i < 1 << 14; ++i) values += ",0";
  seeds.push_back({"many_values", file + values + "]"});
  seeds.push_back({"large", file + std::string((1 << 20) + 1, ' ')});
  // Each four bytes: what, rows, leaves, seconds.
  const std::string one_row("\0\3\2\150\4\3\2\140", 8), odd("\0\3\2\0\0\3\2\1\4\3\2\2\6\3\2\3\7\3\2\4\0\3\2\5\0\3\2\6", 28);
  const std::string many("\1\22\5\210\2\12\3\200\5\22\2\170\6\5\2\50\7\3\2\60\7\106\2\60", 24);
  seeds.push_back({"measured_once", measured + '\0' + one_row});
  seeds.push_back({"measured_never", measured + '\1' + many});
  std::string often(1, '\1');
  for (int i = 0; i < 6; ++i) often += one_row + many;
  seeds.push_back({"measured_often", measured + often});
  seeds.push_back({"measured_oddly", measured + '\0' + one_row + odd});
  return seeds;
}

}  // namespace tessera
