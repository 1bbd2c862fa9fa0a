#include "tessera/runtime/engine/internal/model_sum.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/base/checked_math.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/start_thread.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/tsr.h"

namespace tessera {
namespace {

constexpr int kLowestPriority = 19;

}  // namespace

ModelSum::ModelSum(const LoadedModel& model) : model_(model), by_file_(model.file().HoldsUnitsOf(model.layout())) {
  if (by_file_) {
    const absl::Span<const Sha256Sum> known = model.file().packed()->block_sums();
    sums_.assign(known.begin(), known.end());
    if (!sums_.empty()) return;
  }
  int64_t blocks = 0;
  for (int unit = 0; unit < model.layout().units(); ++unit) {
    first_.push_back(blocks);
    blocks += CeilDiv(model.layout().UnitBytes(unit), kTsrBlockBytes);
  }
  sums_.resize(static_cast<size_t>(blocks));
}

ModelSum::~ModelSum() {
  ends_ = true;
  if (beside_.joinable()) beside_.join();
}

void ModelSum::Start() {
  if (first_.empty()) return;
  absl::StatusOr<std::thread> thread = StartThread([this] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);   // Passes come first.
    Work();
  });
  if (thread.ok()) beside_ = *std::move(thread);
}

// Each thread takes the next unit.
void ModelSum::Work() {
  const absl::Status status = OrOutOfMemory([this] {
    std::vector<std::byte> buffer;
    for (int unit = next_++; unit < static_cast<int>(first_.size()) && !ends_; unit = next_++) {
      RETURN_IF_ERROR(SumUnit(unit, buffer));
    }
    return absl::OkStatus();
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  status_.Update(status);
}

absl::Status ModelSum::SumUnit(int unit, std::vector<std::byte>& buffer) {
  const int64_t size = model_.layout().UnitBytes(unit);
  WeightLease lease;
  absl::Span<const std::byte> bytes;
  if (by_file_) {
    buffer.resize(static_cast<size_t>(size));
    RETURN_IF_ERROR(model_.file().packed()->ReadUnit(unit, absl::MakeSpan(buffer)));
    bytes = buffer;
  } else {
    ASSIGN_OR_RETURN(lease, model_.weights().Acquire(unit));   // A ResidentSource, which any thread may ask.
    bytes = lease.bytes().first(static_cast<size_t>(size));
  }
  Sha256Sum* sum = &sums_[static_cast<size_t>(first_[static_cast<size_t>(unit)])];
  for (int64_t begin = 0; begin < size; begin += kTsrBlockBytes) {
    *sum++ = Sha256Of(bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(kTsrBlockBytes)));
  }
  summed_bytes_ += size;
  return absl::OkStatus();
}

absl::StatusOr<Sha256Sum> ModelSum::Finish(ThreadPool& pool) {
  if (!first_.empty() && next_ < static_cast<int>(first_.size())) pool.Run([this](int) { Work(); });
  if (beside_.joinable()) beside_.join();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    RETURN_IF_ERROR(status_);
  }
  return SumOfAll();
}

absl::StatusOr<Sha256Sum> ModelSum::SumOfAll() const {
  Sha256 hash;
  hash.AddSized("tessera model 1");
  hash.AddNumber(static_cast<uint64_t>(model_.layout().encoding()));
  hash.AddNumber(static_cast<uint64_t>(model_.gguf().parts()));
  for (int part = 0; part < model_.gguf().parts(); ++part) {
    ASSIGN_OR_RETURN(const GgufFile::Header header, model_.gguf().HeaderOf(part));
    hash.AddNumber(header.bytes.span().size());
    hash.Add(header.bytes.span());
  }
  hash.AddNumber(model_.config().ropes.size());
  for (const RopeConfig& rope : model_.config().ropes) {
    const std::vector<float>& factors = rope.frequency_factors;
    hash.AddSized({reinterpret_cast<const char*>(factors.data()), factors.size() * sizeof(float)});
  }
  const WeightRecipe& recipe = model_.layout().recipe();
  hash.AddSized(recipe.keeps_all() ? "" : recipe.text());   // Says more than the bytes: how rows are rounded.
  hash.AddNumber(sums_.size());
  for (const Sha256Sum& sum : sums_) hash.Add(sum);
  return hash.Take();
}

}  // namespace tessera
