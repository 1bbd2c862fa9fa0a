// Bounds requests by the context and, under a memory budget, by the room in the memory plan. A larger request is refused before the request
// is held in memory.
//
//   PlanRequests({.texts = 4}, engine_options);                    // before the engine is opened: the budget's plan counts them
//   ASSIGN_OR_RETURN(const auto engine, Engine::Open(engine_options));
//   const RequestLimits limits = RequestLimits::Of(*engine);
//   lines.LimitBytes(limits.line_bytes);
//   ASSIGN_OR_RETURN(const Request request, Request::Parse(line, source, limits));
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Limits of requests, in bytes unless a name says otherwise.
struct RequestLimits {
  static constexpr int64_t kMostLine = int64_t{64} << 20;
  static constexpr int64_t kMostValues = int64_t{1} << 20;
  static constexpr int kMostId = 4096;
  static constexpr int kMostStops = 64;          // Number of stop texts.
  static constexpr int kMostStopBytes = 16384;   // All stop texts of a request together.

  int64_t text = kMostLine;        // The texts of a prompt together; also a prompt as rendered by a template.
  int64_t line = kMostLine;        // A request as JSON.
  int64_t values = kMostValues;    // JSON values in a request.
  int64_t template_memory = jinja::RenderOptions().max_text_bytes;   // As ChatLimits::memory_bytes.
  int64_t waiting = int64_t{1} << 30;   // Answers that wait for the answers of earlier requests.
  // Tokens of the texts of all requests together, for programs that keep the texts. No limit without a budget.
  int64_t kept = std::numeric_limits<int64_t>::max();
  std::string limited_by = {};     // The option that limits `text`: "context" or "memory_budget". Empty: none.
  std::string reason = {};         // The derivation of `text`: "a context of 8192 tokens of at most 128 bytes".

  // Returns the limits of requests to this engine. Under a budget without requests in the plan (PlanRequests), only the context counts.
  static RequestLimits Of(const Engine& engine);
  // Returns the limits for a program that cuts texts into windows: a text may be longer than the context.
  static RequestLimits OfCutTexts(const Engine& engine);

  // Returns ResourceExhausted (found, expected), limited by `limited_by`, if a text of `bytes` bytes is larger than `text`.
  absl::Status CheckText(int64_t bytes) const;
  // Returns ResourceExhausted (found, expected), limited by "memory_budget", if texts of `bytes` bytes are more than `kept`.
  absl::Status CheckKept(int64_t bytes) const;
  // Returns these limits reduced to the budget's plan; unchanged if the engine has no plan with requests.
  RequestLimits UnderBudget(const Engine& engine) const;
  ChatLimits chat() const { return {.output_bytes = text, .memory_bytes = template_memory}; }
};

// Requests in a memory plan.
struct RequestPlan {
  int texts = 1;                 // Most texts generated at once.
  int64_t answer_of_token = 0;   // Bytes of an answer per token of the prompt, in addition to the token.
  // True: the tokens of all requests are kept until the last request was read, up to RequestLimits::kept bytes.
  bool keeps_texts = false;
};

// Adds requests to the memory plan of a budget: one request being read, the tokens of texts generated at once, and answers waiting for
// output. Does nothing without a budget.
void PlanRequests(const RequestPlan& plan, EngineOptions& options);

// Sets the memory plan of a budget to one prompt of `bytes` bytes, in place of requests that are read line by line (PlanRequests). Does
// nothing without a budget.
void PlanPrompt(int64_t bytes, EngineOptions& options);

// Adds a text that is cut into windows to the memory plan of a budget. The whole text counts, as the context does not bound the text.
void PlanCutText(int64_t bytes, EngineOptions& options);

}  // namespace tessera
