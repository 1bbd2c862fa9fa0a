// Writes the largest logits after every token of a text, for comparison with other engines.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/screen/pass_progress.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/apps/show/quoted_piece.h"
#include "tessera/apps/show/streaming_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/logit_math.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/chat/request_limits.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_logits",
          .summary = "Shows what a model thinks comes next, after every token of a text: the largest logits and the logarithm of the "
                     "sum of all their exponentials. BOS is added where the model asks for it.",
          .examples = {"tessera_logits --prompt \"The capital of France is\" --top 5",
                       "tessera_logits --jsonl --top 20 < requests   # {\"id\": \"a\", \"tokens\": [1, 2]}"},
          .groups = {{"Text", {"prompt", "prompt_file", "special"}},
                     ModelFlags(),
                     AdapterFlags(),
                     StreamingFlags(),
                     {"Output", {"top", "json", "jsonl"}}}};
}

// Maximum bytes that WritePosition writes: for a position, and for each logit of the position.
constexpr int64_t kBytesOfPosition = 64, kBytesOfLogit = 32;

void WritePosition(JsonWriter& json, absl::Span<const float> logits) {
  json.BeginObject().Key("logsumexp").Double(LogSumExp(logits), 12);
  json.Key("top").BeginArray();
  for (TokenId token : LargestLogits(logits, FLAGS_top)) json.BeginArray().Int(token).Double(logits[token], 9).EndArray();
  json.EndArray().EndObject();
}

// Computes tokens with a model, and shows progress.
struct Reader {
  Engine& engine;
  Session& session;
  const StreamedRun& run;

  absl::Status Read(const std::vector<TokenId>& tokens, const Session::LogitsVisitor& on_logits) const {
    const PassProgress progress(engine, "tokens", static_cast<int64_t>(tokens.size()), run.flash_bytes_per_second());
    return session.AppendEach(tokens, on_logits);
  }
};

// Writes "tokens" and "positions", members of the current object.
absl::Status WritePositions(const Reader& reader, const std::vector<TokenId>& tokens, JsonWriter& json) {
  WriteTokens(json.Key("tokens"), tokens);
  json.Key("positions").BeginArray();
  RETURN_IF_ERROR(reader.Read(tokens, [&](int, absl::Span<const float> logits) {
    WritePosition(json, logits);
    return absl::OkStatus();
  }));
  json.EndArray();
  return absl::OkStatus();
}

absl::Status AnswerRequests(const OpenedEngine& opened, LineReader& lines, const Adapters& adapters) {
  Engine& engine = *opened.engine;
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  AdaptedSession adapted;
  const StreamedRun run(engine, opened.flash_bytes_per_second);
  ASSIGN_OR_RETURN(const ConversationOptions chat, ConversationOptionsOfFlags());
  return ForEachRequest(lines, RequestLimits::Of(engine), [&](const Request& request) -> absl::StatusOr<std::string> {
    constexpr absl::string_view kMore[] = {"adapter"};
    ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, PromptTokens(request.body(), engine, chat, kMore));
    ASSIGN_OR_RETURN(const int adapter, adapters.OfRequest(request.body()));
    RETURN_IF_ERROR(UseAdapter(engine, adapters, adapter, adapted));
    JsonWriter answer = BeginAnswer(request);
    adapted.session->Truncate(0);
    RETURN_IF_ERROR(WritePositions({engine, *adapted.session, run}, tokens, answer));
    return WholeAnswer(std::move(answer));
  });
}

// Shows a table for people: each token, and the expected next tokens.
absl::Status ShowTable(const Reader& reader, const std::vector<TokenId>& tokens) {
  Table table({{"position", Table::Align::kRight}, {"token", Table::Align::kRight}, {"after"}, {"next", Table::Align::kRight},
               {"piece"}, {"logit", Table::Align::kRight}, {"probability", Table::Align::kRight}});
  const auto piece = [&](TokenId token) { return QuotedPiece(reader.engine.tokenizer().Piece(token, true)); };
  RETURN_IF_ERROR(reader.Read(tokens, [&](int index, absl::Span<const float> logits) {
    const double log_sum = LogSumExp(logits);
    for (TokenId next : LargestLogits(logits, FLAGS_top)) {
      table.AddRow({absl::StrCat(index), absl::StrCat(tokens[index]), piece(tokens[index]), absl::StrCat(next), piece(next),
                    absl::StrFormat("%.4f", logits[next]), absl::StrFormat("%.4f", std::exp(logits[next] - log_sum))});
    }
    return absl::OkStatus();
  }));
  reader.run.WriteError();
  return WriteOutput(table.ToString());
}

absl::StatusOr<std::vector<TokenId>> TokensOfText(const Engine& engine, const std::string& text) {
  RETURN_IF_ERROR(RequestLimits::Of(engine).CheckText(static_cast<int64_t>(text.size())));
  std::vector<TokenId> tokens = engine.tokenizer().Encode(text, {.parse_special = FLAGS_special, .add_bos = true});
  RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine.context()));
  return tokens;
}

absl::Status ShowText(const OpenedEngine& opened, const std::string& text, const Adapters& adapters) {
  Engine& engine = *opened.engine;
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, TokensOfText(engine, text));
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession({.adapter = adapter.get()}));
  const StreamedRun run(engine, opened.flash_bytes_per_second);
  const Reader reader = {engine, *session, run};
  if (!FLAGS_json) return ShowTable(reader, tokens);
  JsonWriter json;
  json.BeginObject();
  RETURN_IF_ERROR(WritePositions(reader, tokens, json));
  run.WriteMembers(json);
  json.EndObject();
  run.WriteError();
  return WriteOutput(std::move(json).Take() + "\n");
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlagRange("top", FLAGS_top, 1, 1 << 20));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "json", FLAGS_json));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "prompt", PromptGiven()));
  if (FLAGS_jsonl && FLAGS_special) return WrongUsage("special", "beside --jsonl", "\"special\": true in the requests that mean it");
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
  options.workload.logit_rows = Session::kLogitRows + 1;
  options.workload.logits_of_each = true;
  if (FLAGS_jsonl) PlanRequests({.answer_of_token = kBytesOfPosition + FLAGS_top * kBytesOfLogit}, options);
  ASSIGN_OR_RETURN(const Adapters adapters, AdaptersOfFlags(options));
  if (FLAGS_dry_run) {
    return ShowLoadPlan(options, [](const Engine& engine, const std::string& text) -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, TokensOfText(engine, text));
      return static_cast<int64_t>(tokens.size());
    });
  }
  std::string text;
  LineReader lines;
  if (FLAGS_jsonl) {
    RETURN_IF_ERROR(lines.EditLines());
  } else {
    ASSIGN_OR_RETURN(text, ReadPrompt());
    PlanPrompt(static_cast<int64_t>(text.size()), options);
  }
  ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(options));
  return trace.Finish(FLAGS_jsonl ? AnswerRequests(opened, lines, adapters) : ShowText(opened, text, adapters));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
