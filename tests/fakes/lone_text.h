// Writes a text alone. Texts that share passes must equal these texts bit for bit.
//
//   LoneWriter alone({.model_path = path, .cache = {.context = 96}});
//   const LoneText expected = alone.Write({.prompt = {1, 2, 3}, .text = {.max_tokens = 20}});
//   EXPECT_EQ(seen.logits, expected.logits);
//
// Uses Generate, which drives one stream in passes of its own. With an adapter, uses one row per pass and a sampler alone, without stop
// strings. CHECKs that no call fails. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {

struct LoneText {
  std::vector<TokenId> tokens;
  std::vector<uint32_t> logits;      // Digests of the logits behind each token.
  std::string text;                  // Empty with an adapter.
  FinishReason reason = FinishReason::kLength;
};

// Writes by a session with the text's adapter, and without drafts.
inline LoneText WriteAlone(Engine& engine, const StreamOptions& options) {
  LoneText written;
  const auto session = Must(engine.NewSession({.adapter = options.adapter}));
  Must(session->Append(options.prompt));
  GenerateOptions text = options.text;
  text.speculator = nullptr;
  text.on_token = [&](TokenId, absl::Span<const float> logits) { written.logits.push_back(DigestOf(logits)); };
  Generation generation = Must(Generate(*session, Must(Sampler::Create(options.sampling)), text));
  written.tokens = std::move(generation.tokens);
  written.text = std::move(generation.text);
  written.reason = generation.reason;
  return written;
}

class LoneWriter {
 public:
  explicit LoneWriter(const EngineOptions& options) : engine_(Must(Engine::Load(options))) {}

  LoneText Write(const StreamOptions& options) {
    if (options.adapter == nullptr) return WriteAlone(*engine_, options);
    LoneText written;
    WriteRows(options, written);
    return written;
  }

  // Returns the logits' digest after the last of these tokens.
  uint32_t LogitsAfter(absl::Span<const TokenId> tokens) {
    const auto session = Must(engine_->NewSession());
    Must(session->Append(tokens));
    return DigestOf(session->logits());
  }

  Engine& engine() { return *engine_; }

 private:
  void WriteRows(const StreamOptions& options, LoneText& written) {
    CHECK(options.text.stop.empty());
    EngineCore& core = CoreOf(*engine_);
    const EngineCore::Hold hold = core.AwaitHold();
    const Sampler sampler = Must(Sampler::Create(options.sampling));
    CachedText text(core.cache());
    text.Append(options.prompt);
    while (true) {
      std::vector<float> logits;
      while (text.held() < text.length()) logits = NextRow(text, options.adapter);
      const TokenId token = Must(sampler.Choose(logits, written.tokens, options.text.stream, written.tokens.size()));
      written.tokens.push_back(token);
      written.logits.push_back(DigestOf(logits));
      const bool ends = !options.text.ignore_end && engine_->tokenizer().IsEnd(token);
      const bool is_long = static_cast<int>(written.tokens.size()) == options.text.max_tokens;
      const bool is_full = text.length() == core.context();
      written.reason = ends ? FinishReason::kEndToken : is_long || !is_full ? FinishReason::kLength : FinishReason::kContextFull;
      if (ends || is_long || is_full) return;
      text.Append({token});
    }
  }

  std::vector<float> NextRow(CachedText& text, const LoraAdapter* adapter) {
    EngineCore& core = CoreOf(*engine_);
    std::vector<PassRow> rows;
    std::vector<float> logits(engine_->config().vocabulary);
    Must(core.cache().MakeRoom(1));
    Must(text.PlaceNext(1, adapter, rows));
    Pass pass = Must(core.Begin(rows, /*cancel=*/nullptr));
    const HiddenRows done = Must(pass.Finish({0}));
    Must(core.runner().Logits(done, {0}, TensorView<float>(logits.data(), 1, static_cast<int64_t>(logits.size()))));
    return logits;
  }

  const std::unique_ptr<Engine> engine_;
};

}  // namespace tessera
