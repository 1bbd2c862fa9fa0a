// tessera_scale texts: converts recorded samples to requests for tessera_quantize states, and to labels for training a reward head.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/judging/judge_recorded.h"
#include "tessera/apps/lab/scale/tasks/recorded_texts.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/scale/step_ends.h"

namespace tessera {
namespace {

std::string IdOf(const RecordedSample& text) { return absl::StrCat(text.question->id, "/", text.sample); }

std::string RequestOf(const RecordedSample& text, const std::vector<TokenId>& tokens) {
  JsonWriter json;
  json.BeginObject().Key("id").String(IdOf(text)).Key("tokens");
  WriteTokens(json, tokens);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

// Returns the label of a sample. `ends` are places in all tokens of the request.
std::string LabelOf(const RecordedSample& text, size_t tokens, const std::vector<int>& ends) {
  JsonWriter json;
  json.BeginObject().Key("id").String(IdOf(text)).Key("question").String(text.question->id);
  json.Key("statement").String(text.question->problem->statement).Key("sample").Int(text.sample).Key("right").Bool(text.candidate->right);
  json.Key("answer");
  if (text.candidate->answer.has_value()) {
    json.String(*text.candidate->answer);
  } else {
    json.Null();
  }
  json.Key("tokens").Int(static_cast<int64_t>(tokens)).Key("ends").BeginArray();
  for (const int end : ends) json.Int(end);
  json.EndArray().Key("figures").BeginObject();
  for (const auto& [name, figure] : text.candidate->figures) json.Key(name).Double(figure);
  json.EndObject().EndObject();
  return std::move(json).Take() + "\n";
}

absl::Status WriteAll(const RecordedSet& set, const Engine& engine) {
  ASSIGN_OR_RETURN(const RecordedTexts texts, RecordedTexts::Create(set, engine, PromptForm::kTask));
  std::string labels;
  int64_t written = 0, left_out = 0;
  RETURN_IF_ERROR(texts.ForEach([&](const RecordedSample& text) -> absl::Status {
    std::vector<TokenId> tokens(text.prompt.begin(), text.prompt.end());
    tokens.insert(tokens.end(), text.tokens.begin(), text.tokens.end());
    if (text.tokens.empty() || tokens.size() > static_cast<size_t>(engine.context())) {
      ++left_out;
      return absl::OkStatus();
    }
    std::vector<int> ends = StepEnds(engine.tokenizer(), text.tokens, "\n");
    for (int& end : ends) end += static_cast<int>(text.prompt.size());
    labels += LabelOf(text, tokens.size(), ends);
    ++written;
    return WriteOutput(RequestOf(text, tokens));
  }));
  RETURN_IF_ERROR(WriteFileAtomically(FLAGS_out, labels));
  WriteMessage(absl::StrCat(written, " texts of ", set.recorded.questions.size(), " problems, labels in ", FLAGS_out, "; ", left_out,
                          " left out: empty, or longer than the context of ", engine.context(), " tokens\n"));
  return absl::OkStatus();
}

absl::Status Run() {
  if (FLAGS_out.empty()) return WrongUsage("out", "none", "a file for the labels");
  RETURN_IF_ERROR(ForFile("out", CheckWritable(FLAGS_out)));
  RETURN_IF_ERROR(CheckConversationFlags());
  ASSIGN_OR_RETURN(RecordedSet set, RecordedSetOfFlags());
  if (IsCode(set.task.kind)) RETURN_IF_ERROR(CheckCode(set.task, set.recorded));
  ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));   // The engine's weights are not read.
  return WriteAll(set, *engine);
}

}  // namespace

Command ScaleTexts() {
  return {{.subcommand = "texts",
           .summary =
               "Writes recorded samples as texts for a reward head's training: to standard output a request per sample for "
               "tessera_quantize states --jsonl, the problem's prompt and the sample's own tokens; to the file of --out, in the "
               "same order, whether each is right, and where its lines end. scripts/train/reward.py reads both. Code runs with its "
               "tests in a sandbox, as check does it.",
           .examples = {"tessera_scale texts --data=FOLDER --out=labels.jsonl > requests.jsonl",
                        "tessera_quantize states --jsonl --layers=last --out=states.safetensors < requests.jsonl"},
           .groups = {{"Samples", {"task", "data", "candidates", "split", "out"}},
                      {"Text", {"raw", "chat_template"}},
                      {"Model", {"model", "threads", "context"}},
                      {"Output", {"json"}}}},   // Requests and labels are JSON in any case.
          Run};
}

}  // namespace tessera
