#include "tessera/runtime/chat/request_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/parallel_answers.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Under a budget: bytes of text for each token of the context (most texts take 3 to 5), and the minimum for small contexts.
constexpr int64_t kTextOfToken = 8;
constexpr int64_t kLeastText = int64_t{64} << 10;
// Under a large budget a text may be longer: requests then take 2.4 % of the budget.
constexpr int64_t kBudgetOfTextByte = 1024;
// JSON values in addition to the tokens of a prompt: messages, tools, stop texts.
constexpr int64_t kOtherValues = 4096;

// Memory of a request on the way to tokens. scripts/measure/hostile_requests.py holds the process to its plan.
constexpr int64_t kFixed = kMiB / 2;         // Buffers of reading and writing.
constexpr int64_t kOfTextByte = 16;          // Line, document, messages, values of the template, pieces, tokens, work of the tokenizer.
constexpr int64_t kOfValue = 224;            // In the document, and as a value of the template.
constexpr int64_t kOfContextToken = 72;      // A number in the document, a token, and both in an answer as it is written.
constexpr int64_t kTemplateOfTextByte = 8;   // RequestLimits::template_memory for each byte of text, in addition to kMiB.

// Memory of texts that are generated at once (parallel_answers.h).
constexpr int64_t kOfWaitingPrompt = 4;      // Per token of each waiting answer, up to kMostTexts answers.
constexpr int64_t kOfTextToken = 48;         // For each text: three copies of the prompt, the answer, and the line with both.
constexpr int64_t kCopiesOfAnswer = 3;       // As the text grows, and as a line.
constexpr int64_t kWaiting = kMiB;           // Lines that wait for their turn; as much waits for a slow reader.

int64_t TextUnderBudget(int64_t budget, int context) {
  return std::max({kLeastText, kTextOfToken * context, budget / kBudgetOfTextByte});
}

// Texts that a program keeps: a share of the budget. A growing list takes three times its bytes.
constexpr int64_t kBudgetOfKeptByte = 32, kGrowing = 3;

int64_t KeptUnderBudget(int64_t budget) { return std::max(kMiB / 4, budget / kBudgetOfKeptByte / kGrowing); }

int64_t BytesOfRequest(int64_t budget, int context) {
  const int64_t text = TextUnderBudget(budget, context);
  return kFixed + kMiB + text * (kOfTextByte + kTemplateOfTextByte) + kOtherValues * kOfValue + kOfContextToken * context;
}

int64_t BytesOfTexts(int texts, int context) {
  return texts == 1 ? 0 : 2 * kWaiting + (kMostTexts * kOfWaitingPrompt + texts * kOfTextToken) * context;
}

}  // namespace

void PlanRequests(const RequestPlan& plan, EngineOptions& options) {
  const int64_t budget = options.streaming.memory_budget;
  if (budget == 0) return;
  options.workload.request_bytes = [budget, plan](int context) {
    const int64_t kept = plan.keeps_texts ? kGrowing * KeptUnderBudget(budget) : 0;
    return BytesOfRequest(budget, context) + BytesOfTexts(plan.texts, context) + kCopiesOfAnswer * plan.answer_of_token * context + kept;
  };
}

void PlanPrompt(int64_t bytes, EngineOptions& options) {
  const int64_t budget = options.streaming.memory_budget;
  if (budget == 0) return;
  options.workload.request_bytes = [budget, bytes](int context) {
    return std::min(bytes, TextUnderBudget(budget, context)) * (kOfTextByte + kTemplateOfTextByte) + kOfContextToken * context;
  };
}

void PlanCutText(int64_t bytes, EngineOptions& options) {
  if (options.streaming.memory_budget == 0) return;
  options.workload.request_bytes = [bytes](int context) { return bytes * kOfTextByte + kOfContextToken * context; };
}

RequestLimits RequestLimits::Of(const Engine& engine) {
  const int64_t longest = engine.tokenizer().LongestPiece(), context = engine.context();
  RequestLimits limits = {.text = longest * context, .limited_by = "context"};
  limits.reason = absl::StrCat("a context of ", context, " tokens of at most ", longest, " bytes");
  // A JSON escape takes at most six bytes for one byte of text.
  limits.line = std::min(kMostLine, 6 * limits.text + kMiB);
  return limits.UnderBudget(engine);
}

RequestLimits RequestLimits::OfCutTexts(const Engine& engine) { return RequestLimits().UnderBudget(engine); }

RequestLimits RequestLimits::UnderBudget(const Engine& engine) const {
  RequestLimits limits = *this;
  if (engine.options().workload.request_bytes == nullptr) return limits;
  const int64_t context = engine.context();
  if (const int64_t text = TextUnderBudget(engine.options().streaming.memory_budget, engine.context()); text < limits.text) {
    limits.text = text;
    limits.limited_by = "memory_budget";
    limits.reason = absl::StrCat("what a memory budget has room for with a context of ", context, " tokens");
  }
  limits.line = std::min(kMostLine, 3 * limits.text + kLeastText);
  limits.values = kOtherValues + context;
  limits.template_memory = kMiB + kTemplateOfTextByte * limits.text;
  limits.waiting = kWaiting;
  limits.kept = KeptUnderBudget(engine.options().streaming.memory_budget);
  return limits;
}

absl::Status RequestLimits::CheckText(int64_t bytes) const {
  if (bytes <= text) return absl::OkStatus();
  return LimitedBy(limited_by, absl::ResourceExhaustedError(absl::StrCat("prompt: found ", bytes, " bytes, expected at most ", text, ": ",
                                                                         reason)));
}

absl::Status RequestLimits::CheckKept(int64_t bytes) const {
  if (bytes <= kept) return absl::OkStatus();
  return LimitedBy("memory_budget", absl::ResourceExhaustedError(absl::StrCat(
                                        "texts: found ", bytes, " bytes of tokens with those of earlier requests, expected at most ", kept,
                                        ": a memory budget keeps room for so many")));
}

}  // namespace tessera
