#include "tessera/runtime/decode_loop.h"

#include "tessera/base/status_macros.h"
#include "tessera/model/text_stream.h"

namespace tessera {
namespace {

// Tokens to shown text, with stop strings held back; counts what was shown.
class Writer {
 public:
  Writer(const Tokenizer& tokenizer, const GenerateOptions& options, Generation& result)
      : stream_(&tokenizer, {.render_special = false, .starts_text = options.starts_text}), stops_(options.stop), options_(options),
        result_(result) {}

  // False once a stop string is complete.
  bool Write(TokenId token) {
    Show(stops_.Append(stream_.Append(token)));
    return !stops_.stopped();
  }
  void Finish() {
    if (stops_.stopped()) return;
    Show(stops_.Append(stream_.Finish()));
    Show(stops_.Finish());
  }

 private:
  void Show(const std::string& text) {
    if (text.empty()) return;
    result_.text += text;
    if (options_.on_text) options_.on_text(text);
  }

  TextStream stream_;
  StopStrings stops_;
  const GenerateOptions& options_;
  Generation& result_;
};

}  // namespace

absl::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndToken: return "end of text";
    case FinishReason::kStopString: return "stop string";
    case FinishReason::kLength: return "length";
    case FinishReason::kContextFull: return "context full";
    case FinishReason::kCancelled: return "cancelled";
  }
  return "unknown";
}

absl::StatusOr<Generation> Generate(Engine& engine, Session& session, const Sampler& sampler, const GenerateOptions& options) {
  if (session.logits().empty()) return absl::FailedPreconditionError("Generate: the session is empty, expected a prompt");
  Generation result;
  Writer writer(engine.tokenizer(), options, result);
  const size_t limit = options.max_tokens > 0 ? static_cast<size_t>(options.max_tokens) : SIZE_MAX;
  result.reason = FinishReason::kLength;
  while (result.tokens.size() < limit) {
    TokenId token;
    {
      TimelineScope scope(engine.timeline(), Zone::kSample, static_cast<int>(result.tokens.size()));
      ASSIGN_OR_RETURN(token, sampler.Choose(session.logits(), result.tokens, options.stream, result.tokens.size()));
    }
    result.tokens.push_back(token);
    if (!options.ignore_end && engine.tokenizer().IsEnd(token)) {
      result.reason = FinishReason::kEndToken;
      break;
    }
    if (!writer.Write(token)) {
      result.reason = FinishReason::kStopString;
      break;
    }
    if (result.tokens.size() == limit) break;
    if (session.length() == engine.context()) {
      result.reason = FinishReason::kContextFull;
      break;
    }
    const absl::Status appended = session.Append({&token, 1});
    if (absl::IsCancelled(appended)) {
      result.reason = FinishReason::kCancelled;
      break;
    }
    RETURN_IF_ERROR(appended);
  }
  writer.Finish();
  return result;
}

}  // namespace tessera
