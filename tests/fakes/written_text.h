// All that can be seen of a text that an engine writes: two ways to write it must agree in every bit.
//
//   PromptWriter writer(*engine, prompt);                                             // the prompt is computed once
//   const WrittenText plain = writer.Write(sampling, {.max_tokens = 24}, nullptr);
//   EXPECT_EQ(writer.Write(sampling, {.max_tokens = 24}, std::make_unique<ScriptedDrafter>(plain.tokens)), plain);
//
// CHECKs that nothing fails. Thread-compatible.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tessera/base/crc32c.h"
#include "tessera/runtime/decode_loop.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {

inline uint32_t DigestOf(absl::Span<const float> logits) {
  return Crc32c({reinterpret_cast<const std::byte*>(logits.data()), logits.size() * sizeof(float)});
}

struct WrittenText {
  std::vector<TokenId> tokens;
  std::vector<uint32_t> logits;      // Digests of those that each token was chosen from.
  std::string text, shown;
  FinishReason reason = FinishReason::kLength;
  std::vector<TokenId> held;         // By the session afterwards,
  uint32_t last_logits = 0;          // and its logits.
  bool operator==(const WrittenText&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const WrittenText& text) {
  out << text.tokens.size() << " tokens (" << FinishReasonName(text.reason) << "), digests of logits:";
  for (size_t i = 0; i < text.tokens.size(); ++i) out << " " << text.tokens[i] << ":" << text.logits[i];
  return out << ", held " << text.held.size();
}

class PromptWriter {
 public:
  PromptWriter(Engine& engine, const std::vector<TokenId>& prompt) : engine_(engine), prompt_(prompt), session_(Must(engine.NewSession())) {
    Must(session_->Append(prompt));
  }

  // A null drafter: without a speculator. Every proposal is verified, whatever it costs.
  WrittenText Write(const SamplingOptions& sampling, GenerateOptions options, std::unique_ptr<Drafter> drafter, int max_rows = 16) {
    std::unique_ptr<Speculator> speculator;
    if (drafter != nullptr)
      speculator =
          std::make_unique<Speculator>(std::move(drafter), Speculator::Options{.max_rows = max_rows, .weigh_costs = false});
    session_->Truncate(static_cast<int>(prompt_.size()) - 1);
    Must(session_->Append({prompt_.back()}));
    WrittenText written;
    options.speculator = speculator.get();
    options.on_text = [&](absl::string_view text) { written.shown.append(text.data(), text.size()); };
    options.on_token = [&](TokenId, absl::Span<const float> logits) { written.logits.push_back(DigestOf(logits)); };
    const Generation generation = Must(Generate(engine_, *session_, Must(Sampler::Create(sampling)), options));
    written.tokens = generation.tokens;
    written.text = generation.text;
    written.reason = generation.reason;
    written.held.assign(session_->tokens().begin(), session_->tokens().end());
    written.last_logits = DigestOf(session_->logits());
    passes_ = generation.passes;
    rows_ = generation.rows;
    return written;
  }

  int64_t passes() const { return passes_; }  // Of the last text.
  int64_t rows() const { return rows_; }

 private:
  Engine& engine_;
  const std::vector<TokenId> prompt_;
  const std::unique_ptr<Session> session_;
  int64_t passes_ = 0, rows_ = 0;
};

}  // namespace tessera
