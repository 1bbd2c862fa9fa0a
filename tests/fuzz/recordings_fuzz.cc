// Recordings and measurements that reports play back: of drafts, of draft models, of runs of DS2D, curves of accuracy and of times. A text
// is refused in words that name it and can be shown; what is accepted is consistent, and a recording is the same after it was written and
// read again.
//
// An input's first byte says which of them follows.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "tessera/apps/bench/passes/named_curve.h"
#include "tessera/apps/lab/papers/onemodel/ds2d_runs.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/apps/lab/papers/scaling/scaling_curves.h"
#include "tessera/base/sha256.h"
#include "tessera/spec/trees/branches.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

enum Kind : char { kDrafts, kDraftModel, kDs2d, kCurves, kNamedCurve, kKinds };
constexpr char kSource[] = "input.jsonl";

void CheckPasses(const std::vector<RecordedPass>& passes, int64_t tokens, int most_rows) {
  int64_t given = 1;
  for (const RecordedPass& pass : passes) {
    CHECK(pass.drafted >= 0 && pass.accepted >= 0 && pass.accepted <= pass.drafted && pass.drafted < most_rows) << pass.drafted;
    CHECK_LT(given, tokens) << "a pass that is not needed";
    given += pass.accepted + 1;
  }
  CHECK_GE(given, tokens);
}

absl::Status UseDrafts(const std::string& text) {
  const auto recording = ParseRecording(text, kSource);
  if (!recording.ok()) return Refused(recording.status(), kSource);
  CHECK(!recording->texts.empty() && Sha256Sum::Parse(recording->model_sha256).has_value());
  for (const RecordedText& each : recording->texts) {
    CheckPasses(each.passes, each.tokens, recording->most_rows);
    CHECK(each.missing >= 0 && each.synonym >= 0 && each.redundant >= 0);
    CHECK_LE(each.missing + each.synonym + each.redundant, static_cast<int64_t>(each.passes.size()));
  }
  const double mean = recording->MeanTokens("");
  CHECK(mean >= 0 && mean <= recording->most_rows) << mean;
  const std::string written = RecordingText(*recording);
  const auto again = ParseRecording(written, kSource);
  CHECK(again.ok() && again->texts == recording->texts && RecordingText(*again) == written) << again.status();
  return absl::OkStatus();
}

absl::Status UseDraftModel(const std::string& text) {
  const auto recording = ParseDraftRecording(text, kSource);
  if (!recording.ok()) return Refused(recording.status(), kSource);
  for (const DraftedText& each : recording->texts) {
    CHECK(!each.tokens.empty() && static_cast<int>(each.tokens.size()) <= recording->most_tokens);
    CHECK_EQ(each.said.size() + 1, each.tokens.size());
    for (const TopTokens& said : each.said) {
      CHECK_LE(static_cast<int>(said.size()), recording->candidates);
      for (const TopToken& top : said) CHECK(top.probability > 0 && top.probability <= 1 && top.token >= 0) << top.probability;
    }
    CheckPasses(each.retrieval, static_cast<int64_t>(each.tokens.size()), 513);
  }
  const double share = recording->HitShare("");
  CHECK(share >= 0 && share <= 1) << share;
  // Probabilities are written with three digits, and so may be more than 1 together, or less than a float holds.
  const std::string written = DraftRecordingText(*recording);
  const auto again = ParseDraftRecording(written, kSource);
  CHECK(again.ok() || absl::StrContains(again.status().message(), "probabilit")) << again.status() << " of " << written;
  if (again.ok()) CHECK(DraftRecordingText(*again) == written);
  return absl::OkStatus();
}

absl::Status UseDs2d(const std::string& text) {
  const auto runs = ParseDs2dRuns(text, kSource);
  if (!runs.ok()) return Refused(runs.status(), kSource);
  CHECK(!runs->empty());
  for (const Ds2dRun& run : *runs) {
    CHECK(run.configuration == "auto" || ParseBranches(run.configuration, 64).ok()) << run.configuration;
    CHECK(!run.tasks.empty() && IsPrintableUtf8(run.of()));
    for (const Ds2dTask& task : run.tasks) CHECK(task.passes >= 1 && task.tokens_per_pass() >= 1) << task.name;
  }
  return absl::OkStatus();
}

absl::Status UseCurves(const std::string& text) {
  const auto curves = ParseAccuracyCurves(text, kSource);
  if (!curves.ok()) return Refused(curves.status(), kSource);
  CHECK(!curves->empty());
  for (const AccuracyCurve& curve : *curves) {
    CHECK(!curve.points.empty() && IsPrintableUtf8(curve.name()));
    for (const AccuracyPoint& point : curve.points) {
      CHECK(point.samples >= 1 && point.right.low >= 0 && point.right.low <= point.right.high && point.right.high <= 1);
      CHECK(point.gain.low >= -1 && point.gain.low <= point.gain.high && point.gain.high <= 1);
    }
  }
  return absl::OkStatus();
}

absl::Status UseNamedCurve(const std::string& text) {
  const auto curve = ParseCurve(text, kSource);
  if (!curve.ok()) return Refused(curve.status(), kSource);
  for (const auto& [rows, seconds] : curve->points) CHECK(rows >= 1 && seconds >= 0 && seconds < 1e6) << rows << " " << seconds;
  return absl::OkStatus();
}

std::string Drafts() {
  const std::string hash = Sha256Of("a").Hex();
  return absl::StrCat(R"({"drafter":"sam","command":"record","model":"m.gguf","model_sha256":")", hash, R"(","most_rows":32})", "\n",
                      R"({"task":"rag","id":"481","prompt_sha256":")", hash, R"(","prompt_tokens":812,"tokens":6,)",
                      R"("passes":[[9,2],[0,0],[5,0]],"missing":0,"synonym":1,"redundant":1})", "\n");
}

std::string DraftModel() {
  const std::string hash = Sha256Of("a").Hex();
  return absl::StrCat(R"({"command":"record_draft","model":"m.gguf","model_sha256":")", hash, R"(","draft":"d.gguf",)",
                      R"("draft_sha256":")", hash, R"(","most_tokens":128,"candidates":8,"off_path":"distribution of the same position",)",
                      R"("wrong_nodes":900,"wrong_said":0.61,)",
                      R"("wrong_by_rule":0.64})", "\n", R"({"set":"gsm8k","id":"1","prompt_sha256":")", hash,
                      R"(","prompt_tokens":97,"tokens":[7042,30,198],"said":[[30,0.8,284,0.1],[198,0.99]],"retrieval":[[9,1]]})", "\n");
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const int kind = bytes.Below(kKinds);
  const std::string text = bytes.Rest();
  constexpr absl::Status (*kUse[])(const std::string&) = {UseDrafts, UseDraftModel, UseDs2d, UseCurves, UseNamedCurve};
  return kUse[kind](text);
}

std::vector<FuzzSeed> Seeds() {
  const std::string ds2d = R"({"model":"a/m.gguf","tree":"ds2d:3,2","draft_model":"ds2d.safetensors","categories":[{"category":"rag",)"
                           R"("texts":4,"drafted":{"tokens":310,"passes":200}}],"more":1})";
  const std::string estimates = R"("right":{"mean":0.46,"low":0.43,"high":0.5},"gain":{"mean":0.09,"low":0.07,"high":0.1})";
  const std::string curve = absl::StrCat(R"({"task":"gsm8k","scorer":"arithmetic","figures":[{"samples":4,"way":"majority",)", estimates,
                                         "}]}");
  const std::string point = absl::StrCat(R"({"model":"m","task":"gsm8k","method":"best","scorer":"brevity","samples":4,)", estimates, "}");
  std::vector<FuzzSeed> seeds;
  const auto add = [&](Kind kind, const std::string& text) {
    seeds.push_back({absl::StrCat("text_", seeds.size()), std::string(1, kind) + text});
  };
  const std::pair<Kind, std::string> good[] = {
      {kDrafts, Drafts()}, {kDraftModel, DraftModel()}, {kDs2d, ds2d}, {kCurves, curve}, {kCurves, point + "\n\n" + curve + "\n" + point},
      {kNamedCurve, R"({"name":"peer","rows":[{"rows":1,"seconds":0.8},{"rows":32,"seconds":6}],"more":1})"}};
  for (const auto& [kind, text] : good) {
    add(kind, text);
    add(kind, text + text);
    add(kind, "");
    for (size_t cut = 1; cut < text.size(); cut += 31) add(kind, text.substr(0, cut));
    for (const char* found : {"32", "6", "[9,2]", "0.8", "284", "200", "310", "3,2", "0.43", "128", "8", "\"rag\"", "\"gsm8k\"",
                              "\"m.gguf\""}) {
      for (const char* other : {"0", "-1", "1e300", "null", "[]", "\"\\u0007\"", "9223372036854775807", "1e-46"}) {
        const std::string spoiled = absl::StrReplaceAll(text, {{found, other}});
        if (spoiled != text) add(kind, spoiled);
      }
    }
  }
  return seeds;
}

}  // namespace tessera
