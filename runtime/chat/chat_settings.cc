#include "tessera/runtime/chat/chat_settings.h"

#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kMostTokens = 1 << 30;

struct Settings {
  SamplingOptions sampling;
  int max_tokens;
};

// Calls `visit` with the name of each setting and its place.
template <typename SettingsLike, typename Visit>
void ForEach(SettingsLike& settings, Visit visit) {
  auto& sampling = settings.sampling;
  visit("temperature", sampling.temperature);
  visit("top_k", sampling.top_k);
  visit("top_p", sampling.top_p);
  visit("min_p", sampling.min_p);
  visit("repetition_penalty", sampling.repetition_penalty);
  visit("penalty_window", sampling.penalty_window);
  visit("seed", sampling.seed);
  visit("n_predict", settings.max_tokens);
}

template <typename Number>
absl::Status ReadNumber(const std::string& name, const std::string& text, Number& number) {
  if constexpr (std::is_floating_point_v<Number>) {
    return absl::SimpleAtof(text, &number) ? absl::OkStatus() : WrongUsage(name, Quoted(text), "a number");
  } else {
    return absl::SimpleAtoi(text, &number) ? absl::OkStatus() : WrongUsage(name, Quoted(text), "a whole number");
  }
}

}  // namespace

absl::Status SetChatSetting(const std::string& name, const std::string& value, SamplingOptions& sampling, int& max_tokens) {
  Settings settings = {sampling, max_tokens};
  std::vector<std::string> names;
  bool known = false;
  absl::Status status;
  ForEach(settings, [&](const char* each, auto& number) {
    names.push_back(each);
    if (name != each) return;
    known = true;
    status = ReadNumber(name, value, number);
  });
  RETURN_IF_ERROR(status);
  if (!known) {
    const std::string meant = NearestName(name, names);
    return WrongUsage("/set", Quoted(name), absl::StrCat("one of ", absl::StrJoin(names, ", "),
                                                         meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
  }
  if (settings.max_tokens < 0 || settings.max_tokens > kMostTokens) {
    return WrongUsage("n_predict", settings.max_tokens, absl::StrCat("0 to ", kMostTokens));
  }
  RETURN_IF_ERROR(Sampler::Create(settings.sampling).status());
  sampling = settings.sampling;
  max_tokens = settings.max_tokens;
  return absl::OkStatus();
}

std::string ChatSettingsText(const SamplingOptions& sampling, int max_tokens) {
  const Settings settings = {sampling, max_tokens};
  std::vector<std::string> texts;
  ForEach(settings, [&](const char* name, const auto& number) { texts.push_back(absl::StrCat(name, " ", number)); });
  return absl::StrJoin(texts, ", ");
}

}  // namespace tessera
