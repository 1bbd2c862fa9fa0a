#include <string>
#include <utility>

#include "tessera/apps/lab/papers/onemodel/onemodel_figures.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_runs.h"
#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;

void WriteFigure(JsonWriter& json, const OnemodelFigure& figure) {
  json.BeginObject().Key("table").Int(figure.table).Key("id").String(figure.id).Key("what").String(figure.what).Key("of").String(figure.of);
  json.Key("unit").String(figure.unit).Key("published").Double(figure.published, kDigits).Key("counted").Bool(figure.counted);
  json.Key("note").String(figure.note);
  if (figure.prediction.has_value()) {
    json.Key("predicted_low").Double(figure.prediction->low, kDigits).Key("predicted_high").Double(figure.prediction->high, kDigits);
    json.Key("standing").String(StandingName(figure.prediction->standing)).Key("asked").String(figure.prediction->asked);
    json.Key("error").Double(*figure.error(), kDigits);
  } else {
    json.Key("error").Null();
  }
  json.EndObject();
}

void WriteSetup(JsonWriter& json, const OnemodelSetup& setup) {
  json.BeginObject().Key("phone").String(setup.phone).Key("shape").String(setup.shape).Key("way").String(AdapterWayName(setup.way));
  json.Key("tasks").Int(setup.tasks).Key("graphs").Int(setup.graphs).Key("graph_bytes").Int(setup.graph_bytes);
  json.Key("adapter_bytes").Int(setup.adapter_bytes).Key("peak_bytes").Int(setup.peak_bytes()).Key("sessions").Int(setup.sessions);
  json.Key("load_milliseconds").Double(1e3 * setup.load_seconds, kDigits);
  json.Key("first_token_milliseconds").Double(1e3 * setup.first_token_seconds, kDigits);
  json.Key("token_milliseconds").Double(1e3 * setup.token_seconds, kDigits).EndObject();
}

void WriteRun(JsonWriter& json, const Ds2dRun& run, const Ds2dTimes& times) {
  json.BeginObject().Key("model").String(run.model).Key("forecasts").String(run.forecasts);
  json.Key("configuration").String(run.configuration).Key("tasks").BeginArray();
  for (const Ds2dTask& task : run.tasks) {
    json.BeginObject().Key("task").String(task.name).Key("texts").Int(task.texts).Key("tokens").Int(task.tokens);
    json.Key("passes").Int(task.passes).Key("tokens_per_pass").Double(task.tokens_per_pass(), kDigits);
    json.Key("modeled_tokens_per_second").Double(times.Rate(task.tokens_per_pass()), kDigits).EndObject();
  }
  json.EndArray().EndObject();
}

void WriteBest(JsonWriter& json, const Ds2dBest& best, const OnemodelReport& report) {
  json.BeginObject().Key("of").String(best.of).Key("task").String(best.task).Key("configuration").String(best.configuration);
  json.Key("tokens_per_pass").Double(best.tokens_per_pass, kDigits).Key("phones").BeginArray();
  for (const Ds2dTimes& times : {report.ds2d_3b, report.ds2d_1b}) {
    json.BeginObject().Key("shape").String(times.shape).Key("phone").String(times.phone);
    json.Key("tokens_per_second").Double(times.Rate(best.tokens_per_pass), kDigits);
    json.Key("plain_tokens_per_second").Double(times.plain_rate(), kDigits);
    json.Key("gain").Double(times.Rate(best.tokens_per_pass) / times.plain_rate(), kDigits).EndObject();
  }
  json.EndArray().EndObject();
}

void WriteErrors(JsonWriter& json, const std::vector<OnemodelFigure>& figures) {
  json.BeginObject();
  for (const Standing standing : {Standing::kFitted, Standing::kNear, Standing::kElsewhere}) {
    const OnemodelErrors errors = ErrorsOf(figures, standing);
    json.Key(StandingName(standing)).BeginObject().Key("figures").Int(errors.figures).Key("within").Int(errors.within);
    json.Key("median_error").Double(errors.median, kDigits).EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string OnemodelReportJson(const OnemodelReport& report) {
  const std::vector<OnemodelFigure> figures = OnemodelFigures(report);
  JsonWriter json;
  json.BeginObject().Key("adapter_rank").Int(report.assumptions.adapter_rank);
  json.Key("prompt_chunks").Int(report.assumptions.prompt_chunks).Key("figures").BeginArray();
  for (const OnemodelFigure& figure : figures) WriteFigure(json, figure);
  json.EndArray().Key("not_addressed").BeginArray().Int(4).Int(8).EndArray();
  json.Key("ds2d_pass_milliseconds").Double(report.ds2d_3b.pass_milliseconds, kDigits);
  json.Key("row_milliseconds").Double(report.ds2d_3b.row_milliseconds, kDigits).Key("runs").BeginArray();
  for (const Ds2dRun& run : report.runs) WriteRun(json, run, report.ds2d_3b);
  json.EndArray().Key("best").BeginArray();
  for (const Ds2dBest& best : BestOfTasks(report.runs)) WriteBest(json, best, report);
  json.EndArray().Key("setups").BeginArray();
  for (const OnemodelSetup& setup : report.setups) WriteSetup(json, setup);
  json.EndArray().Key("errors");
  WriteErrors(json, figures);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace tessera
