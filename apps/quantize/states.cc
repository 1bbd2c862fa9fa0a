// tessera_quantize states: writes tokens of texts, hidden states between layers and logits. The file is for training small parts
// (docs/training.md).
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/screen/pass_progress.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/apps/quantize/subcommands.h"
#include "tessera/apps/show/streaming_report.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/logit_math.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/apps/show/states_file.h"

namespace tessera {
namespace {

constexpr int kLast = -1;

// The request of the flags, as far as known without the model.
struct Asked {
  std::vector<int> layers = {};   // kLast: after all of them.
  StatesFile::Content content = {};
};

absl::StatusOr<std::vector<int>> LayersOfFlag() {
  std::vector<int> layers;
  if (FLAGS_layers == "none") return layers;
  for (const absl::string_view name : absl::StrSplit(FLAGS_layers, ',')) {
    int layer = kLast;
    const bool known = name == "last" || (absl::SimpleAtoi(name, &layer) && layer >= 0);
    if (!known) return WrongUsage("layers", Quoted(name), "none, or numbers of layers and last, with commas between");
    layers.push_back(layer);
  }
  return layers;
}

absl::StatusOr<Asked> AskedByFlags() {
  Asked asked;
  ASSIGN_OR_RETURN(asked.layers, LayersOfFlag());
  absl::string_view top = FLAGS_logits;
  if (absl::ConsumePrefix(&top, "top:")) {
    if (!absl::SimpleAtoi(top, &asked.content.top) || asked.content.top < 1) {
      return WrongUsage("logits", Quoted(FLAGS_logits), "top:N with N from 1 on");
    }
  } else if (FLAGS_logits == "all") {
    asked.content.all_logits = true;
  } else if (FLAGS_logits != "none") {
    return WrongUsage("logits", Quoted(FLAGS_logits), "none, all or top:N");
  }
  if (FLAGS_numbers != "f32" && FLAGS_numbers != "f16") return WrongUsage("numbers", Quoted(FLAGS_numbers), "f32 or f16");
  asked.content.numbers = FLAGS_numbers == "f16" ? SafetensorsType::kF16 : SafetensorsType::kF32;
  return asked;
}

// Returns the content for the model.
absl::StatusOr<StatesFile::Content> ContentFor(const Asked& asked, const ModelConfig& config) {
  StatesFile::Content content = asked.content;
  const int all = static_cast<int>(config.layers.size());
  for (const int layer : asked.layers) {
    if (layer > all) return WrongUsage("layers", layer, absl::StrCat("at most ", all, ", the model's layers"));
    content.layers.push_back(layer == kLast ? all : layer);
  }
  std::sort(content.layers.begin(), content.layers.end());   // A pass is walked once.
  const auto twice = std::adjacent_find(content.layers.begin(), content.layers.end());
  if (twice != content.layers.end()) return WrongUsage("layers", absl::StrCat(*twice, " twice"), "each once");
  if (content.top > config.vocabulary) {
    return WrongUsage("logits", FLAGS_logits, absl::StrCat("at most top:", config.vocabulary, ", the model's vocabulary"));
  }
  content.width = config.width;
  content.vocabulary = config.vocabulary;
  return content;
}

// Walks passes over texts, and writes hidden states and logits on the way.
class StateReader {
 public:
  StateReader(Engine& engine, StatesFile& file) : core_(CoreOf(engine)), file_(file) {}

  absl::Status Read(absl::Span<const TokenId> tokens) {
    return core_.Guarded([&]() -> absl::Status {
      ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_.TryHold());
      CachedText text(core_.cache());
      text.Append(tokens);
      text.MakeExtendable();
      while (text.held() < text.length()) RETURN_IF_ERROR(ReadPart(text));
      return absl::OkStatus();
    });
  }

 private:
  absl::Status ReadPart(CachedText& text) {
    const int count = std::min(text.length() - text.held(), core_.runner().row_capacity());
    RETURN_IF_ERROR(core_.MakeRoom(count));
    rows_.clear();
    RETURN_IF_ERROR(text.PlaceNext(count, /*adapter=*/nullptr, rows_));
    ASSIGN_OR_RETURN(Pass pass, core_.Begin(rows_, /*cancel=*/nullptr));
    const StatesFile::Content& content = file_.content();
    for (size_t i = 0; i < content.layers.size(); ++i) {
      RETURN_IF_ERROR(pass.RunTo(content.layers[i]));
      ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
      RETURN_IF_ERROR(file_.AddHidden(i, hidden));
    }
    if (!content.has_logits()) return pass.Finish({}).status();   // Later parts attend to the keys and values of all layers.
    ASSIGN_OR_RETURN(const HiddenRows done, pass.FinishAll());
    return AddLogits(done, count);
  }

  absl::Status AddLogits(const HiddenRows& done, int count) {
    const int64_t vocabulary = file_.content().vocabulary;
    const int at_once = std::min(core_.logits_at_once(), count);
    logits_.resize(static_cast<size_t>(at_once) * static_cast<size_t>(vocabulary));
    for (int begin = 0; begin < count; begin += at_once) {
      std::vector<int> rows(static_cast<size_t>(std::min(at_once, count - begin)));
      std::iota(rows.begin(), rows.end(), begin);
      const TensorView<float> view(logits_.data(), static_cast<int64_t>(rows.size()), vocabulary);
      RETURN_IF_ERROR(core_.runner().Logits(done, rows, view));
      for (int64_t r = 0; r < view.rows(); ++r) {
        const absl::Span<const float> row(view.row(r), static_cast<size_t>(vocabulary));
        const int top = file_.content().top;
        RETURN_IF_ERROR(file_.AddLogits(row, LogSumExp(row), top > 0 ? LargestLogits(row, top) : std::vector<TokenId>()));
      }
    }
    return absl::OkStatus();
  }

  EngineCore& core_;
  StatesFile& file_;
  std::vector<PassRow> rows_;
  std::vector<float> logits_;
};

// Returns the model's own continuation of a prompt, always with the likeliest token.
absl::StatusOr<Generation> Continue(Session& session, const std::vector<TokenId>& prompt, int context) {
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  session.Truncate(0);
  RETURN_IF_ERROR(session.Append(prompt));
  ASSIGN_OR_RETURN(Generation written, Generate(session, sampler, {.max_tokens = FLAGS_n_predict}));
  if (written.reason == FinishReason::kCancelled) return absl::CancelledError("terminated");
  const size_t room = static_cast<size_t>(context) - prompt.size();   // The last token may be one that the cache has no room for.
  if (written.tokens.size() > room) written.tokens.resize(room);
  return written;
}

absl::StatusOr<std::string> AddRequest(const Request& request, Engine& engine, Session& session, const ConversationOptions& chat,
                                       const RequestLimits& limits, StatesTexts& texts) {
  ASSIGN_OR_RETURN(const std::vector<TokenId> prompt, PromptTokens(request.body(), engine, chat));
  const int64_t most_written = FLAGS_generate ? std::min<int64_t>(FLAGS_n_predict, engine.context()) : 0;
  RETURN_IF_ERROR(limits.CheckKept(
      StatesTexts::BytesOf(texts.count() + 1, texts.rows() + static_cast<int64_t>(prompt.size()) + most_written)));
  Generation written;
  if (FLAGS_generate) {
    ASSIGN_OR_RETURN(written, Continue(session, prompt, engine.context()));
  }
  JsonWriter answer = BeginAnswer(request);
  answer.Key("first_row").Int(texts.rows()).Key("prompt_tokens").Int(static_cast<int64_t>(prompt.size()));
  if (FLAGS_generate) {
    answer.Key("output_tokens").Int(static_cast<int64_t>(written.tokens.size())).Key("output_text").String(written.text);
    answer.Key("finish").String(FinishReasonName(written.reason));
  }
  texts.Add(prompt, written.tokens);
  return WholeAnswer(std::move(answer));
}

// Adds the texts of all requests, and answers each. The errors of ForEachRequest.
absl::Status AddRequests(LineReader& lines, Engine& engine, StatesTexts& texts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  ASSIGN_OR_RETURN(const ConversationOptions chat, ConversationOptionsOfFlags());
  const RequestLimits limits = RequestLimits::Of(engine);
  return ForEachRequest(lines, limits, [&](const Request& request) { return AddRequest(request, engine, *session, chat, limits, texts); });
}

// Returns the text in windows or, where the model continues the text, as one whole.
absl::StatusOr<StatesTexts> TextsOfPrompt(const Engine& engine, const std::string& text) {
  StatesTexts texts;
  const Tokenizer& tokenizer = engine.tokenizer();
  if (FLAGS_generate) {
    RETURN_IF_ERROR(RequestLimits::Of(engine).CheckText(static_cast<int64_t>(text.size())));
    const std::vector<TokenId> tokens = tokenizer.Encode(text, {.add_bos = true});
    RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine.context()));
    texts.Add(tokens, {});
    return texts;
  }
  const std::vector<TokenId> tokens = tokenizer.Encode(text);
  if (tokens.empty()) return absl::InvalidArgumentError("text: found 0 tokens, expected at least 1");
  const bool add_bos = tokenizer.adds_bos() && tokenizer.bos().has_value();
  const size_t of_text = static_cast<size_t>(FLAGS_window) - (add_bos ? 1 : 0);
  for (size_t begin = 0; begin < tokens.size(); begin += of_text) {
    std::vector<TokenId> window;
    if (add_bos) window.push_back(*tokenizer.bos());
    const absl::Span<const TokenId> part = absl::MakeConstSpan(tokens).subspan(begin, of_text);
    window.insert(window.end(), part.begin(), part.end());
    texts.Add(window, {});
  }
  return texts;
}

absl::Status ShowSummary(const StatesFile::Content& content, const StatesTexts& texts, const StreamedRun& run) {
  std::vector<std::string> layers;
  for (const int layer : content.layers) layers.push_back(absl::StrCat(layer));
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(FLAGS_out).Key("texts").Int(texts.count()).Key("tokens").Int(texts.rows());
    json.Key("written_tokens").Int(texts.written()).Key("layers").BeginArray();
    for (const int layer : content.layers) json.Int(layer);
    json.EndArray().Key("width").Int(content.width).Key("logits").String(FLAGS_logits).Key("numbers").String(FLAGS_numbers);
    json.Key("seconds").Double(SecondsSinceStart(), 4);
    run.WriteMembers(json);
    json.EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table table({{"what"}, {"value"}});
  table.AddRow({"file", FLAGS_out});
  table.AddRow({"texts", absl::StrCat(texts.rows(), " tokens in ", texts.count(), " texts, ", texts.written(), " written by the model")});
  table.AddRow({"layers", layers.empty() ? "none" : absl::StrJoin(layers, ", ")});
  table.AddRow({"logits", FLAGS_logits});
  table.AddRow({"time", absl::StrFormat("%.2f s", SecondsSinceStart())});
  return WriteOutput(table.ToString());
}

// Computes and writes all states of the texts.
absl::Status WriteStates(const OpenedEngine& opened, const StatesFile::Content& content, const StatesTexts& texts) {
  if (texts.rows() == 0) return absl::InvalidArgumentError("texts: found 0 tokens, expected at least 1");
  ASSIGN_OR_RETURN(StatesFile file, StatesFile::Create(FLAGS_out, content, texts));
  const PassProgress progress(*opened.engine, "tokens", texts.rows(), opened.flash_bytes_per_second);
  StateReader reader(*opened.engine, file);
  for (int64_t i = 0; i < texts.count(); ++i) RETURN_IF_ERROR(reader.Read(texts.Text(i)));
  return file.Commit();
}

absl::Status RunRequests(const OpenedEngine& opened, const StatesFile::Content& content, LineReader& lines) {
  RETURN_IF_ERROR(opened.engine->LoadWeights());
  RETURN_IF_ERROR(opened.engine->AwaitWeights());
  StatesTexts texts;
  const absl::Status status = AddRequests(lines, *opened.engine, texts);
  if (absl::IsCancelled(status) || (texts.rows() == 0 && !status.ok())) return status;
  return EndOf(status, WriteStates(opened, content, texts));
}

absl::Status RunTexts(const OpenedEngine& opened, const StatesFile::Content& content, const std::string& text) {
  Engine& engine = *opened.engine;
  StatesTexts texts;
  if (!FLAGS_tokens_of.empty()) {
    ASSIGN_OR_RETURN(texts, StatesTexts::Read(FLAGS_tokens_of, engine.context(), content.vocabulary, RequestLimits::Of(engine)));
  } else {
    ASSIGN_OR_RETURN(texts, TextsOfPrompt(engine, text));
  }
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  const StreamedRun run(engine, opened.flash_bytes_per_second);
  if (FLAGS_generate) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
    const std::vector<TokenId> prompt(texts.Text(0).begin(), texts.Text(0).end());
    ASSIGN_OR_RETURN(const Generation written, Continue(*session, prompt, engine.context()));
    texts = StatesTexts();
    texts.Add(prompt, written.tokens);
  }
  RETURN_IF_ERROR(WriteStates(opened, content, texts));
  run.WriteError();
  return ShowSummary(content, texts, run);
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "json", FLAGS_json));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "prompt", PromptGiven()));
  RETURN_IF_ERROR(CheckNotBoth("tokens_of", !FLAGS_tokens_of.empty(), "prompt", PromptGiven()));
  RETURN_IF_ERROR(CheckNotBoth("tokens_of", !FLAGS_tokens_of.empty(), "jsonl", FLAGS_jsonl));
  RETURN_IF_ERROR(CheckNotBoth("tokens_of", !FLAGS_tokens_of.empty(), "generate", FLAGS_generate));
  RETURN_IF_ERROR(CheckFlagRange("window", FLAGS_window, 2, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("n_predict", FLAGS_n_predict, 0, 1 << 30));
  const bool is_cut = !FLAGS_jsonl && FLAGS_tokens_of.empty() && !FLAGS_generate;
  if (IsGiven("window") && !is_cut) return WrongUsage("window", "it with texts that stay whole", "a text of --prompt without --generate");
  if (IsGiven("n_predict") && !FLAGS_generate) return WrongUsage("n_predict", "without --generate", "both");
  return FLAGS_out.empty() ? absl::OkStatus() : ForFile("out", CheckWritable(FLAGS_out));
}

absl::StatusOr<EngineOptions> OptionsFor(const Asked& asked, Timeline* timeline) {
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(timeline));
  if (asked.content.has_logits()) {
    options.workload.logit_rows = Session::kLogitRows + 1;
    options.workload.logits_of_each = true;
  }
  int& context = options.cache.context;
  if (FLAGS_jsonl || !FLAGS_tokens_of.empty()) PlanRequests({.keeps_texts = true}, options);
  if (FLAGS_jsonl || FLAGS_generate || !FLAGS_tokens_of.empty()) return options;
  if (context == 0) context = FLAGS_window;   // Enough, and the cache stays small.
  if (context < FLAGS_window) return WrongUsage("window", FLAGS_window, absl::StrCat("at most ", context, ", the context (--context)"));
  return options;
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const Asked asked, AskedByFlags());
  RETURN_IF_ERROR(CheckFlags());
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, OptionsFor(asked, trace.timeline()));
  if (FLAGS_dry_run) {
    const auto count = [](const Engine& engine, const std::string& text) -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const StatesTexts texts, TextsOfPrompt(engine, text));
      return texts.rows();
    };
    return FLAGS_generate ? ShowLoadPlan(options, count) : ShowLoadPlanOfCutText(options, count);
  }
  std::string text;
  LineReader lines;
  if (FLAGS_jsonl) {
    RETURN_IF_ERROR(lines.EditLines());
  } else if (FLAGS_tokens_of.empty()) {
    ASSIGN_OR_RETURN(text, ReadPrompt());
    (FLAGS_generate ? PlanPrompt : PlanCutText)(static_cast<int64_t>(text.size()), options);
  }
  ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(options));
  ASSIGN_OR_RETURN(const StatesFile::Content content, ContentFor(asked, opened.engine->config()));
  if (FLAGS_out.empty()) return WrongUsage("out", "none", "a file to write");
  return trace.Finish(FLAGS_jsonl ? RunRequests(opened, content, lines) : RunTexts(opened, content, text));
}

}  // namespace

Command WriteStatesOfTexts() {
  return {{.subcommand = "states",
          .summary = "Writes what a model makes of texts to a safetensors file: tokens, hidden states after some of its layers, and "
                     "logits. A text of --prompt is cut into windows, each computed from an empty cache; those of --jsonl are requests "
                     "on standard input, and stay whole. With --generate the model goes on with each text first.",
          .examples = {"tessera_quantize states --prompt_file=text.txt --layers=0,8,17,last model.gguf states.safetensors",
                       "tessera_quantize states --jsonl --generate model.gguf own.safetensors < requests",
                       "tessera_quantize states --tokens_of=own.safetensors --logits=top:10 draft.gguf top.safetensors"},
          .groups = {{"Text", {"prompt", "prompt_file", "window", "tokens_of", "generate", "n_predict"}},
                     {"States", {"layers", "logits", "numbers"}},
                     ModelFlags(),
                     StreamingFlags(),
                     {"Output", {"out", "json", "jsonl"}}},
          .plain_arguments = {"model", "out"}},
          Run};
}

}  // namespace tessera
