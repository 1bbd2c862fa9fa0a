// The golden files of another engine as C++ values (tests/golden/README.md describes a line of each file).
//
//   for (const GoldenLogits& line : ReadGoldenLogits("tiny/llama.logits.jsonl")) Compare(line.tokens, line.positions);
//
// Paths are relative to tests/golden. A file that cannot be read is a CHECK failure.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/token.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

inline std::string GoldenPath(const std::string& name) { return std::string(TESSERA_SOURCE_DIR) + "/tests/golden/" + name; }

inline std::vector<JsonValue> GoldenLines(const std::string& name) {
  std::ifstream in(GoldenPath(name));
  CHECK(in.good()) << name;
  std::vector<JsonValue> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Must(JsonValue::Parse(line, name)));
  CHECK(!lines.empty()) << name;
  return lines;
}

inline std::vector<TokenId> GoldenTokens(const JsonValue& line, absl::string_view key) {
  const std::vector<int64_t> numbers = Must(line.Ints(key));
  return {numbers.begin(), numbers.end()};
}

struct GoldenPosition {
  double logsumexp;
  std::vector<std::pair<TokenId, double>> top;  // Token and logit.
};
struct GoldenLogits {
  std::vector<TokenId> tokens;
  std::vector<GoldenPosition> positions;        // One per token.
};

inline GoldenPosition ReadGoldenPosition(const JsonValue& json) {
  GoldenPosition position = {Must(json.Double("logsumexp")), {}};
  const JsonValue top = Must(json.Array("top"));
  for (int64_t i = 0; i < top.size(); ++i) {
    position.top.emplace_back(static_cast<TokenId>(Must(top[i][0].AsInt())), Must(top[i][1].AsDouble()));
  }
  return position;
}

inline std::vector<GoldenLogits> ReadGoldenLogits(const std::string& name) {
  std::vector<GoldenLogits> result;
  for (const JsonValue& line : GoldenLines(name)) {
    const JsonValue positions = Must(line.Array("positions"));
    GoldenLogits logits = {GoldenTokens(line, "tokens"), {}};
    for (int64_t i = 0; i < positions.size(); ++i) logits.positions.push_back(ReadGoldenPosition(positions[i]));
    CHECK_EQ(logits.positions.size(), logits.tokens.size());
    result.push_back(std::move(logits));
  }
  return result;
}

struct GoldenText {
  std::string id;
  std::vector<TokenId> prompt;
  std::vector<TokenId> output;
  std::vector<double> gap;  // At each step, the best logit minus the second best.
};

inline std::vector<GoldenText> ReadGoldenTexts(const std::string& name) {
  std::vector<GoldenText> result;
  for (const JsonValue& line : GoldenLines(name)) {
    result.push_back({Must(line.String("id")), GoldenTokens(line, "prompt_tokens"), GoldenTokens(line, "output_tokens"),
                      Must(line.Doubles("gap"))});
  }
  return result;
}

// Computes in double for any type of logits, and in four parts: a test calls this function tens of thousands of times, and one chain of
// additions is several times slower.
inline double LogSumExpOf(absl::Span<const float> logits) {
  float largest[4];
  std::fill_n(largest, 4, -std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < logits.size(); ++i) largest[i % 4] = std::max(largest[i % 4], logits[i]);
  const float most = *std::max_element(largest, largest + 4);
  double sums[4] = {};
  for (size_t i = 0; i < logits.size(); ++i) sums[i % 4] += std::exp(logits[i] - most);
  return most + std::log(sums[0] + sums[1] + sums[2] + sums[3]);
}

// Returns the errors of the log-probabilities of the golden tokens.
inline std::vector<double> LogProbabilityErrors(const GoldenPosition& golden, absl::Span<const float> logits) {
  const double logsumexp = LogSumExpOf(logits);
  std::vector<double> errors;
  for (const auto& [token, logit] : golden.top) {
    errors.push_back(std::abs((logit - golden.logsumexp) - (logits[token] - logsumexp)));
  }
  return errors;
}

}  // namespace tessera
