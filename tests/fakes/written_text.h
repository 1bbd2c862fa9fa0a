// Everything visible of a text that an engine writes: two ways to write the text must agree in every bit.
//
//   PromptWriter writer(*engine, prompt);                                             // the prompt is computed once
//   const WrittenText plain = writer.Write(sampling, {.max_tokens = 24}, nullptr);
//   EXPECT_EQ(writer.Write(sampling, {.max_tokens = 24}, std::make_unique<ScriptedDrafter>(plain.tokens)), plain);
//   EXPECT_GT(writer.drafted(), 0);                                                   // or nothing was compared
//
// Checks that each pass of a text computes only the rows of its tree: accepted rows are kept and not computed again. CHECKs that no call
// fails. Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/crc32c.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/session/prompt.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {

inline uint32_t DigestOf(absl::Span<const float> logits) {
  return Crc32c({reinterpret_cast<const std::byte*>(logits.data()), logits.size() * sizeof(float)});
}

struct WrittenText {
  std::vector<TokenId> tokens;
  std::vector<uint32_t> logits;      // Digests of the logits behind each token.
  std::string text, shown;
  FinishReason reason = FinishReason::kLength;
  std::vector<TokenId> held;         // Held by the session afterwards,
  uint32_t last_logits = 0;          // and the session's logits.
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

  // Writes a text. A null drafter: without a speculator. Every proposal is verified, at any cost.
  WrittenText Write(const SamplingOptions& sampling, const GenerateOptions& options, std::unique_ptr<Drafter> drafter,
                    int max_rows = 16) {
    if (drafter == nullptr) return WriteWith(sampling, options, nullptr);
    Speculator speculator(std::move(drafter), {.max_rows = max_rows, .weigh_costs = false});
    return WriteWith(sampling, options, &speculator);
  }

  // Writes with a speculator that may have drafted other texts before, or with none. For a speculator that learns from prompts, the prompt
  // is computed once more.
  WrittenText WriteWith(const SamplingOptions& sampling, GenerateOptions options, Speculator* speculator) {
    ReadPrompt(speculator);
    WrittenText written;
    options.speculator = speculator;
    options.on_text = [&](absl::string_view text) { written.shown.append(text.data(), text.size()); };
    options.on_token = [&](TokenId, absl::Span<const float> logits) { written.logits.push_back(DigestOf(logits)); };
    const int64_t drafted_before = DraftedBy(speculator);
    const EngineStats before = engine_.stats();
    const Generation generation = Must(Generate(*session_, Must(Sampler::Create(sampling)), options));
    const EngineStats after = engine_.stats();
    EXPECT_EQ(after.passes - before.passes, generation.passes);
    EXPECT_EQ(after.rows - before.rows, generation.rows);
    written.tokens = generation.tokens;
    written.text = generation.text;
    written.reason = generation.reason;
    written.held.assign(session_->tokens().begin(), session_->tokens().end());
    written.last_logits = DigestOf(session_->logits());
    passes_ = generation.passes;
    rows_ = generation.rows;
    drafted_ = DraftedBy(speculator) - drafted_before;
    return written;
  }

  int64_t passes() const { return passes_; }    // Passes of the last text.
  int64_t rows() const { return rows_; }
  int64_t drafted() const { return drafted_; }  // Passes that had a draft to verify.

 private:
  static int64_t DraftedBy(const Speculator* speculator) { return speculator == nullptr ? 0 : speculator->report().drafted_steps; }

  void ReadPrompt(Speculator* speculator) {
    const bool learns = speculator != nullptr && speculator->needs().top_of_prompt > 0;
    const size_t known = learns ? 0 : prompt_.size() - 1;
    session_->Truncate(static_cast<int>(known));
    Must(AppendPrompt(*session_, speculator, absl::MakeConstSpan(prompt_).subspan(known)));
  }

  Engine& engine_;
  const std::vector<TokenId> prompt_;
  const std::unique_ptr<Session> session_;
  int64_t passes_ = 0, rows_ = 0, drafted_ = 0;
};

// Returns the number of nodes that each drafter of a speculator proposed, in all its texts.
inline std::map<std::string, int64_t> NodesProposed(const Speculator& speculator) {
  std::map<std::string, int64_t> proposed;
  for (const SpeculationReport::Source& source : speculator.report().sources) proposed[source.name] = source.account.proposed;
  return proposed;
}

// Returns costs that do not change. One more row takes next to no time, so drafts are worth their rows.
inline CostProfile FrozenCosts() {
  CostProfile costs;
  for (const int rows : {1, 32}) costs.AddPass({.rows = rows}, 1e-2 + 1e-5 * rows);
  for (const int rows : {1, 32}) costs.AddHead(rows, 1e-3 + 1e-5 * rows);
  costs.Freeze();
  return costs;
}

}  // namespace tessera
