#include "tessera/apps/show/beam_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/show/text_beginning.h"
#include "tessera/base/table.h"
#include "tessera/runtime/session/generation.h"

namespace tessera {

std::string BeamShapeText(const BeamOptions& beams) { return absl::StrCat(beams.width, "x", beams.expansions); }

std::string BeamTable(const BeamTexts& written, absl::string_view scorer) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"step", kRight}, {"beam", kRight}, {"from", kRight}, {"score", kRight}, {"ended"}, {"text"}});
  for (const KeptStep& kept : written.kept) {
    table.AddRow({absl::StrCat(kept.step), absl::StrCat(kept.beam), kept.from == 0 ? "-" : absl::StrCat(kept.from),
                  absl::StrFormat("%.4f", kept.score), kept.ended ? "yes" : "", TextBeginning(kept.text)});
  }
  const double passes = static_cast<double>(std::max<int64_t>(written.passes.passes, 1));
  return absl::StrCat(table.ToString(), absl::StrFormat("%d of %d steps kept, scored by %s in %.2f s; %.1f rows per pass\n",
                                                        written.kept.size(), written.steps, scorer, written.scoring_seconds,
                                                        static_cast<double>(written.passes.rows) / passes));
}

void WriteBeams(JsonWriter& json, const BeamOptions& beams, absl::string_view scorer, const BeamTexts& written) {
  json.Key("beam").String(BeamShapeText(beams)).Key("scorer").String(scorer).Key("score").Double(written.best().score, 9);
  json.Key("steps").Int(written.steps).Key("passes").Int(written.passes.passes).Key("rows").Int(written.passes.rows);
  json.Key("scoring_seconds").Double(written.scoring_seconds, 6).Key("texts").BeginArray();
  for (const BeamText& text : written.texts) {
    json.BeginObject().Key("text").String(text.text).Key("finish").String(FinishReasonName(text.reason));
    json.Key("tokens").Int(static_cast<int64_t>(text.tokens.size())).Key("score").Double(text.score, 9);
    json.Key("mean_log_probability").Double(text.mean_log_probability, 9).Key("self_certainty").Double(text.self_certainty, 9);
    json.Key("path").BeginArray();
    for (const int expansion : text.path) json.Int(expansion);
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
