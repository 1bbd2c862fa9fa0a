// The settings of answers that a dialogue's /set changes, by the names of their flags.
//
//   SamplingOptions sampling;
//   int max_tokens = 512;
//   RETURN_IF_ERROR(SetChatSetting("temperature", "0.5", sampling, max_tokens));
//   ChatSettingsText(sampling, max_tokens);              // "temperature 0.5, top_k 40, top_p 0.95, ..., n_predict 512"
//
// Pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/model/text/sampler.h"

namespace tessera {

// WrongUsage (name, found, expected) for a name that there is not, and a value that the setting does not take; then nothing has changed.
absl::Status SetChatSetting(const std::string& name, const std::string& value, SamplingOptions& sampling, int& max_tokens);

std::string ChatSettingsText(const SamplingOptions& sampling, int max_tokens);

}  // namespace tessera
