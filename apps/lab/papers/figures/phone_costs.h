// Costs of parts of a request on a phone, for a model with a known shape: graphs of any number of rows, the head, and the CPU alone.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> phone, PhoneCosts::Open(profile, "qwen2.5-1.5b"));
//   ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(phone->costs(), setup, work));              // phone_request.h
//   Print(phone->memory().total() + phone->cpu_copy_bytes());
//
// Style and recipe are those of both versions of sd.npu: static graphs that share no weights, attention and head on the CPU, 8 bits per
// channel. The CPU alone reads its own copy of the same weights, in 8 bits, too, and takes the longer of reading and multiplying. Costs are
// PassCoster's (model/pass_cost.h), computed once and kept. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/papers/sdnpu/phone_request.h"
#include "tessera/model/pass_cost.h"

namespace tessera {

inline constexpr int kPhoneContext = 4096;   // The number of positions that the cache has room for.

class PhoneCosts {
 public:
  // most_rows: the maximum rows of any graph, for activations. NotFound for a shape that is not known; the errors of PassCoster.
  static absl::StatusOr<std::unique_ptr<PhoneCosts>> Open(const DeviceProfile& profile, const std::string& shape, int most_rows = 256);
  PhoneCosts(const PhoneCosts&) = delete;
  PhoneCosts& operator=(const PhoneCosts&) = delete;

  RequestCosts costs() const;   // REQUIRES: this outlives the result.
  // Like costs, except that the CPU's attention in a graph takes only the rows that hold a token (RequestCosts::held_run).
  RequestCosts CostsOfHeldRows() const;

  const PhoneMemory& memory() const { return coster_.memory(); }
  int64_t cpu_copy_bytes() const { return coster_.memory().weights; }   // Layers for the CPU: the same numbers again.
  // A drafter of one layer with its own head.
  int64_t draft_model_bytes() const { return coster_.memory().weights / layers_ + head_bytes_; }

 private:
  PhoneCosts(const DeviceProfile& profile, const ModelConfig& config, PassCoster coster);

  // held: rows of attention.
  absl::StatusOr<RunCost> LayerRun(int rows, int held, int64_t positions) const;
  absl::StatusOr<RunCost> HeadRun(int rows) const;
  absl::StatusOr<RunCost> CpuPass(int rows, int64_t positions) const;

  const DeviceProfile profile_;
  const PassCoster coster_;
  int layers_;
  double heads_, head_size_, key_value_numbers_;   // The last: of a position in a layer.
  double layer_weights_ = 0;                       // In the matrices of all layers.
  int64_t head_bytes_ = 0;
  mutable std::map<std::tuple<int, int, int64_t>, RunCost> layer_runs_;
  mutable std::map<int, RunCost> head_runs_;
};

}  // namespace tessera
