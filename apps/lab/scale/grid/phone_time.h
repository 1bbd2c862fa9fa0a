// Time and energy of a question on a modeled phone. A pass has a row for each sample that has not ended.
//
//   ASSIGN_OR_RETURN(const PhoneTime phone, PhoneTime::Create({.device = "8gen3", .shape = "qwen2.5-1.5b", .most_samples = 16}));
//   ASSIGN_OR_RETURN(const PhoneCost cost, phone.Of(/*prompt_tokens=*/90, MeanLengths(tokens, 8)));
//   cost.prompt_seconds + cost.decode_seconds, cost.joules;
//
// The prompt is read once. Then there are as many passes as the longest sample has tokens. Samples that ended have no rows any more, except
// in static graphs, which keep the compiled size. Each pass is modeled with the average number of keys. PassCoster gives the times
// (docs/npu.md). Powers of a phone's parts are assumed: compare energies alone, of one phone. Thread-safe once made.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/runtime/plan/phone_report.h"

namespace tessera {

struct PhoneTimeOptions {
  std::string device = {};     // A text for PhoneOf.
  std::string shape = {};      // A published shape, or
  std::string model = {};      // a file.
  int context = 4096;          // Context of static graphs.
  int most_samples = 1;        // Maximum number of samples together.
};

struct PhoneCost {
  double prompt_seconds = 0, decode_seconds = 0;
  double joules = 0;           // From assumed powers.
  double seconds() const { return prompt_seconds + decode_seconds; }
};

class PhoneTime {
 public:
  // Creates the model of a phone. Returns the errors of MakePhoneReport.
  static absl::StatusOr<PhoneTime> Create(const PhoneTimeOptions& options);

  // Returns the cost of a question. lengths: tokens of the samples that are decoded together, from the longest to the shortest
  // (sample_lengths.h). WrongUsage (context) if the longest sample does not fit behind the prompt. REQUIRES: prompt_tokens >= 1; at most
  // most_samples lengths, none below 0.
  absl::StatusOr<PhoneCost> Of(double prompt_tokens, absl::Span<const double> lengths) const;

  const std::string& device() const { return device_; }   // "8gen3, operators", with the power mode if one is asked for.
  const std::string& shape() const { return shape_; }     // "qwen2.5-1.5b", or the file's name.

 private:
  PhoneTime(PhoneReport report, std::string device, std::string shape)
      : report_(std::move(report)), device_(std::move(device)), shape_(std::move(shape)) {}

  PhoneReport report_;
  std::string device_, shape_;
};

}  // namespace tessera
