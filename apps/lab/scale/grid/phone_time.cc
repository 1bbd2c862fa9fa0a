#include "tessera/apps/lab/scale/grid/phone_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::StatusOr<PhoneTime> PhoneTime::Create(const PhoneTimeOptions& options) {
  ASSIGN_OR_RETURN(PhoneReport report, MakePhoneReport({.device = options.device, .shape = options.shape, .model = options.model,
                                                        .prompt = 1, .decode = 1, .rows = {options.most_samples},
                                                        .context = std::max(options.context, 2)}));
  const Phone& phone = report.phone;
  std::string device = absl::StrCat(phone.profile.name, ", ", phone.style.name);
  if (phone.profile.modes.size() == 1) absl::StrAppend(&device, ", ", phone.profile.modes[0].name);   // A mode that was asked for is alone.
  std::string shape = options.shape.empty() ? options.model.substr(options.model.rfind('/') + 1) : options.shape;
  return PhoneTime(std::move(report), std::move(device), std::move(shape));
}

absl::StatusOr<PhoneCost> PhoneTime::Of(double prompt_tokens, absl::Span<const double> lengths) const {
  CHECK(prompt_tokens >= 1 && !lengths.empty());
  const PhoneQuestion& question = report_.question;
  const ExecutionStyle& style = report_.phone.style;
  const int64_t all = static_cast<int64_t>(lengths.size());
  const double most = std::ceil(prompt_tokens + lengths[0]);
  if (most > question.context) {
    return WrongUsage("context", question.context, absl::StrCat("at least ", most, ", prompts and samples of these questions on average"));
  }
  ASSIGN_OR_RETURN(const PassCost prompt, report_.coster->OfPrompt(std::llround(prompt_tokens), question.chunk_rows));
  PhoneCost cost = {.prompt_seconds = prompt.seconds, .joules = prompt.joules};
  for (int64_t going_on = 1; going_on <= all; ++going_on) {
    const double until = lengths[static_cast<size_t>(going_on) - 1], since = going_on == all ? 0 : lengths[static_cast<size_t>(going_on)];
    if (until <= since) continue;
    const int64_t positions = std::llround(std::ceil(prompt_tokens + (since + until) / 2));
    const bool whole_head = style.static_graphs && style.plain_matrices == ComputePlace::kNpu;
    ASSIGN_OR_RETURN(const PassCost pass, report_.coster->Of({.rows = style.static_graphs ? all : going_on,
                                                              .positions = std::min<int64_t>(positions, question.context),
                                                              .logit_rows = whole_head ? all : going_on}));
    cost.decode_seconds += (until - since) * pass.seconds;
    cost.joules += (until - since) * pass.joules;
  }
  return cost;
}

}  // namespace tessera
