// Bounds requests by what their context allows and, under a memory budget, by what the plan has room for. What is larger is refused before
// it is held.
//
//   PlanRequests({.texts = 4}, engine_options);                    // before the engine is opened: the budget's plan counts them
//   ASSIGN_OR_RETURN(const auto engine, Engine::Open(engine_options));
//   const RequestLimits limits = RequestLimits::Of(*engine);
//   lines.LimitBytes(limits.line_bytes);
//   ASSIGN_OR_RETURN(const Request request, Request::Parse(line, source, limits));
//
// Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Bytes, unless a name says otherwise.
struct RequestLimits {
  static constexpr int64_t kMostLine = int64_t{64} << 20;
  static constexpr int64_t kMostValues = int64_t{1} << 20;
  static constexpr int kMostId = 4096;
  static constexpr int kMostStops = 64;          // Texts.
  static constexpr int kMostStopBytes = 16384;   // All stop texts of a request together.

  int64_t text = kMostLine;        // The texts that a prompt is made of, together; also a prompt as a template writes it.
  int64_t line = kMostLine;        // A request as JSON.
  int64_t values = kMostValues;    // Values of JSON in a request.
  int64_t template_memory = jinja::RenderOptions().max_text_bytes;   // As ChatLimits::memory_bytes.
  int64_t waiting = int64_t{1} << 30;   // Answers that wait for the answers of earlier requests.
  // Texts of all requests, as tokens, where a program needs them together; without a budget there is no limit.
  int64_t kept = std::numeric_limits<int64_t>::max();
  std::string limited_by = {};     // The option that makes `text` so small: "context" or "memory_budget". Empty: none does.
  std::string reason = {};         // How `text` follows from it: "a context of 8192 tokens of at most 128 bytes".

  // Returns the limits of requests to this engine. Under a budget whose plan has no requests (PlanRequests) the context alone counts.
  static RequestLimits Of(const Engine& engine);
  // Returns the limits for a program that cuts texts into windows: a text may be longer than the context.
  static RequestLimits OfCutTexts(const Engine& engine);

  // Refuses a text of so many bytes if that is more than `text`: ResourceExhausted (found, expected), limited by `limited_by`.
  absl::Status CheckText(int64_t bytes) const;
  // Refuses to keep so many bytes of texts if that is more than `kept`: as CheckText, limited by "memory_budget".
  absl::Status CheckKept(int64_t bytes) const;
  RequestLimits UnderBudget(const Engine& engine) const;   // As they are, where the engine has no plan with requests.
  ChatLimits chat() const { return {.output_bytes = text, .memory_bytes = template_memory}; }
};

struct RequestPlan {
  int texts = 1;                 // That are written at once.
  int64_t answer_of_token = 0;   // Bytes of an answer for each token of its prompt, beside the token itself.
  bool keeps_texts = false;      // The tokens of all requests are held until the last one was read: up to RequestLimits::kept.
};

// Makes the memory plan of a budget include requests: one that is read, the tokens of the texts that are written at once, and answers that
// wait to be written. Nothing changes without a budget.
void PlanRequests(const RequestPlan& plan, EngineOptions& options);

// Makes the memory plan of a budget include one prompt of so many bytes, which is not read from a line.
void PlanPrompt(int64_t bytes, EngineOptions& options);

// The same for a text that is cut into windows: all of it counts, as the context does not bound it.
void PlanCutText(int64_t bytes, EngineOptions& options);

}  // namespace tessera
