#include "tessera/model/forward.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status RowError(size_t row, absl::string_view what, int64_t found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("row ", row, ": ", what, ": found ", found, ", expected ", expected));
}

// A row of hidden states.
int64_t RowBytes(const ModelConfig& config) { return RowStride(config.width) * static_cast<int64_t>(sizeof(float)); }

}  // namespace

absl::StatusOr<std::unique_ptr<Forward>> Forward::Create(const ModelConfig& config, const WeightLayout& layout, WeightSource& source,
                                                         Device& device, const Options& options) {
  ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = options.row_capacity,
                                                                               .rows_together = options.rows_together,
                                                                               .graph_rows = options.graph_rows}));
  return Create(config, layout, std::move(model), source, device, options);
}

absl::StatusOr<std::unique_ptr<Forward>> Forward::Create(const ModelConfig& config, const WeightLayout& layout, CompiledModel model,
                                                         WeightSource& source, Device& device, const Options& options) {
  ASSIGN_OR_RETURN(EmbeddingTable embedding, EmbeddingTable::Create(config, layout));
  auto forward = std::unique_ptr<Forward>(new Forward(config, std::move(model), std::move(embedding), source, device, options));
  RETURN_IF_ERROR(forward->store_.Carry(PlanResidency(forward->store_.Costs(), device.limits())));
  for (const RopeConfig& rope : config.ropes) {
    ASSIGN_OR_RETURN(RopeTable table, RopeTable::Create(rope));
    forward->ropes_.push_back(std::move(table));
    forward->rope_values_.emplace_back(static_cast<size_t>(forward->row_capacity()) * rope.dimensions);
  }
  for (AlignedBuffer& hidden : forward->hidden_) {
    ASSIGN_OR_RETURN(hidden, AlignedBuffer::Allocate(RowBytes(config) * forward->row_capacity()));
  }
  ASSIGN_OR_RETURN(forward->chosen_, AlignedBuffer::Allocate(kHeadRows * RowBytes(config)));
  return forward;
}

int64_t Forward::ScratchBytes(const ModelConfig& config, int row_capacity) {
  return (2 * row_capacity + kHeadRows) * RowBytes(config);
}

absl::Status Forward::CheckCancelled() const {
  for (const std::atomic<bool>* cancel : {options_.cancel, also_cancel_}) {
    if (cancel != nullptr && *cancel) return absl::CancelledError("pass: cancelled");
  }
  return absl::OkStatus();
}

absl::Status Forward::LeaseUnits(int block) {
  RETURN_IF_ERROR(CheckCancelled());
  for (int unit : model_.block(block).units) {
    TimelineScope scope(options_.timeline, Zone::kLease, unit, Resource::kFlash);
    ASSIGN_OR_RETURN(WeightLease lease, source_->Acquire(unit));
    leases_.push_back(std::move(lease));
  }
  return absl::OkStatus();
}

// REQUIRES: leases_ hold all the block's units, and maybe others.
absl::Status Forward::RunLeased(int block, int detail, RunArguments& arguments, int next_block) {
  RETURN_IF_ERROR(CheckCancelled());
  weights_.clear();
  for (const TensorPart& part : model_.block(block).parts) {
    const auto lease = std::lower_bound(leases_.begin(), leases_.end(), part.unit,
                                        [](const WeightLease& l, int unit) { return l.unit() < unit; });
    weights_.push_back(lease->bytes().subspan(part.offset, part.bytes));
  }
  arguments.weights = weights_;
  TimelineScope scope(options_.timeline, Zone::kGraphRun, detail, Resource::kNpu);
  return store_.Run(block, arguments.rows, arguments, next_block);
}

absl::Status Forward::RunBlock(int block, int detail, RunArguments& arguments, int next_block) {
  absl::Status status = LeaseUnits(block);
  if (status.ok()) status = RunLeased(block, detail, arguments, next_block);
  leases_.clear();  // The block's weights are given back before the next block's are asked for.
  return status;
}

absl::Status Forward::CheckRows(absl::Span<const ForwardRow> rows, int groups) const {
  if (rows.size() > static_cast<size_t>(row_capacity())) {
    return absl::InvalidArgumentError(absl::StrCat("rows of a pass: found ", rows.size(), ", expected at most ", row_capacity()));
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].token < 0 || rows[r].token >= config_.vocabulary) {
      return RowError(r, "token", rows[r].token, absl::StrCat("0 to ", config_.vocabulary - 1));
    }
    const int64_t paths = static_cast<int64_t>(rows[r].paths.size());
    if (paths != groups) return RowError(r, "paths", paths, absl::StrCat(groups, ", one for each group of layers"));
    const int64_t expected = PathLength(rows[r].paths[0]);
    for (const SlotPath path : rows[r].paths) {
      const int64_t length = PathLength(path);
      if (length < 1 || length > kAllPositions) return RowError(r, "path length", length, absl::StrCat("1 to ", kAllPositions));
      if (length != expected) return RowError(r, "path length", length, absl::StrCat(expected, ", that of its first path"));
    }
  }
  return absl::OkStatus();
}

// If two rows stored to one slot, the last one would win, or either of them, depending on the threads.
absl::Status Forward::CheckSlotsDiffer(const std::vector<int32_t>& slots) {
  sorted_slots_.clear();
  for (size_t r = 0; r < slots.size(); ++r) sorted_slots_.push_back({slots[r], static_cast<int>(r)});
  std::sort(sorted_slots_.begin(), sorted_slots_.end());
  const auto twice = std::adjacent_find(sorted_slots_.begin(), sorted_slots_.end(),
                                        [](const SlotOfRow& a, const SlotOfRow& b) { return a.first == b.first; });
  if (twice == sorted_slots_.end()) return absl::OkStatus();
  return RowError(twice[1].second, "slot", twice->first, absl::StrCat("another than that of row ", twice->second));
}

// A band stores its keys and values before its rows attend to any. Those of later bands are not there yet, so no row may attend to them.
// What a path shares with the path of the row before was checked with that row. REQUIRES: sorted_slots_ are those of the group.
absl::Status Forward::CheckOrder(const std::vector<SlotPath>& paths) const {
  SlotPath before;
  for (size_t r = 0; r < paths.size(); before = paths[r++]) {
    const SlotPath path = paths[r];
    const size_t same = std::mismatch(path.begin(), path.end(), before.begin(), before.end()).first - path.begin();
    for (size_t i = same; i < path.size(); ++i) {
      if (path[i].begin == kNoSlot) continue;
      const bool longer = i == same && same < before.size() && before[i].begin == path[i].begin && before[i].count < path[i].count;
      const int64_t begin = path[i].begin, end = begin + path[i].count;
      auto stored = std::lower_bound(sorted_slots_.begin(), sorted_slots_.end(), begin + (longer ? before[i].count : 0),
                                     [](const SlotOfRow& row, int64_t slot) { return row.first < slot; });
      for (; stored != sorted_slots_.end() && stored->first < end; ++stored) {
        if (stored->second <= static_cast<int>(r)) continue;
        return RowError(r, "slot of its path", stored->first,
                        absl::StrCat("no slot of a row after it, as of row ", stored->second, ", in a pass of more than ",
                                     model_.rows_together()));
      }
    }
  }
  return absl::OkStatus();
}

void Forward::FillRowData(absl::Span<const ForwardRow> rows, int groups) {
  tokens_.clear();
  for (const ForwardRow& row : rows) tokens_.push_back(row.token);
  group_rows_.resize(groups);
  for (int group = 0; group < groups; ++group) {
    auto& [slots, paths] = group_rows_[group];
    slots.clear();
    paths.clear();
    for (const ForwardRow& row : rows) {
      const KvCache::Path& path = row.paths[group];
      slots.push_back(static_cast<int32_t>(int64_t{path.back().begin} + path.back().count - 1));  // Checked with the path, later.
      paths.push_back(path);
    }
  }
  for (size_t t = 0; t < ropes_.size(); ++t) {
    const int dimensions = ropes_[t].dimensions();
    for (size_t r = 0; r < rows.size(); ++r) {
      ropes_[t].Fill(static_cast<int32_t>(PathLength(rows[r].paths[0])) - 1,
                     absl::MakeSpan(rope_values_[t].data() + r * dimensions, dimensions));
    }
  }
}

// Stays empty where no row has an adapter: then nothing is looked at per product.
void Forward::FillAdapters(absl::Span<const ForwardRow> rows, int layer) {
  adapters_.clear();
  const bool any = std::any_of(rows.begin(), rows.end(), [](const ForwardRow& row) { return row.adapter != nullptr; });
  if (!any) return;
  for (const ForwardRow& row : rows) adapters_.push_back(row.adapter == nullptr ? nullptr : row.adapter->Layer(layer).data());
}

absl::Status Forward::CheckWanted(absl::Span<const int> wanted, int rows) const {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int least = i == 0 ? 0 : wanted[i - 1] + 1;
    if (wanted[i] >= least && wanted[i] < rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("wanted row ", i, ": found ", wanted[i], ", expected ", least, " to ", rows - 1, ", in ascending order"));
  }
  return absl::OkStatus();
}

// The arguments for the rows of `band` alone. REQUIRES: FillRowData was called with all rows of the pass.
RunArguments Forward::ArgumentsOf(absl::Span<const ForwardRow> rows, const KvCache& cache, int layer, Share band) {
  RunArguments arguments;
  arguments.rows = static_cast<int>(band.end - band.begin);
  arguments.first_row = static_cast<int>(band.begin);
  rope_pointers_.clear();
  for (size_t t = 0; t < ropes_.size(); ++t) rope_pointers_.push_back(rope_values_[t].data() + band.begin * ropes_[t].dimensions());
  arguments.rope_tables = rope_pointers_;
  FillAdapters(rows.subspan(band.begin, arguments.rows), layer);
  arguments.adapters = adapters_;
  const GroupRows& of_group = group_rows_[cache.GroupOf(layer)];
  arguments.slots = absl::MakeConstSpan(of_group.slots).subspan(band.begin, arguments.rows);
  arguments.paths = absl::MakeConstSpan(of_group.paths).subspan(band.begin, arguments.rows);
  arguments.kv = cache.View(layer);
  return arguments;
}

// Computes a layer for the rows, or the part of the layer that `block` is, in bands that are as even as possible. hidden: the buffers that
// the block reads and writes. REQUIRES: leases_ hold all the block's units.
absl::Status Forward::RunInBands(int block, int layer, absl::Span<const ForwardRow> rows, const KvCache& cache,
                                 absl::Span<const int> hidden, int next_block) {
  const int count = static_cast<int>(rows.size()), bands = static_cast<int>(CeilDiv(count, model_.rows_together()));
  for (int i = 0; i < bands; ++i) {
    const Share band = ShareOf(count, i, bands);
    RunArguments arguments = ArgumentsOf(rows, cache, layer, band);
    for (const int which : hidden) arguments.buffers.push_back(Hidden(which, band.begin));
    RETURN_IF_ERROR(RunLeased(block, layer, arguments, i == bands - 1 ? next_block : kNone));
  }
  return absl::OkStatus();
}

absl::Status Forward::RunLayers(absl::Span<const ForwardRow> rows, const KvCache& cache) {
  const int last = model_.layers() - 1;
  const bool spares = wanted_.size() < rows.size();
  for (int layer = 0; layer <= last; ++layer) {
    absl::Status status = LeaseUnits(model_.layer(layer));
    if (status.ok()) {
      const int next = layer == last ? model_.output_norm() : FirstOfLayer(layer + 1, spares);
      status = layer == last && spares ? RunLastLayer(rows, cache)
                                       : RunInBands(model_.layer(layer), layer, rows, cache, {current_, 1 - current_}, next);
    }
    leases_.clear();  // A layer's weights are given back before the next one's are asked for.
    RETURN_IF_ERROR(status);
    current_ = 1 - current_;
  }
  return absl::OkStatus();
}

// Keys and values of all rows, then the whole layer for those that are wanted; they store theirs once more, the same bits.
// REQUIRES: leases_ are the last layer's, once for both: a unit that was given back comes again in the next pass.
absl::Status Forward::RunLastLayer(absl::Span<const ForwardRow> rows, const KvCache& cache) {
  const int last = model_.layers() - 1;
  RETURN_IF_ERROR(RunInBands(model_.last_keys_and_values(), last, rows, cache, {current_}, wanted_.empty() ? kNone : model_.layer(last)));
  if (wanted_.empty()) return absl::OkStatus();
  KeepWanted(group_rows_[cache.GroupOf(last)]);
  std::vector<ForwardRow> some;
  for (const int row : wanted_) some.push_back(rows[row]);
  current_ = 1 - current_;  // Where they have been moved.
  return RunInBands(model_.layer(last), last, some, cache, {current_, 1 - current_}, model_.output_norm());
}

// Moves what the pass holds of the wanted rows to the front; their hidden states, to the front of the other buffer.
void Forward::KeepWanted(GroupRows& of_group) {
  const int64_t stride = RowStride(config_.width);
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const int row = wanted_[i];
    std::copy_n(Hidden(current_).data + row * stride, config_.width, Hidden(1 - current_).data + i * stride);
    of_group.slots[i] = of_group.slots[row];
    of_group.paths[i] = of_group.paths[row];
    for (size_t t = 0; t < ropes_.size(); ++t) {
      const int dimensions = ropes_[t].dimensions();
      std::copy_n(rope_values_[t].data() + row * dimensions, dimensions, rope_values_[t].data() + i * dimensions);
    }
  }
  of_group.slots.resize(wanted_.size());
  of_group.paths.resize(wanted_.size());
}

absl::Status Forward::Run(absl::Span<const ForwardRow> rows, const KvCache& cache) {
  std::vector<int> all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  return Run(rows, cache, all);
}

absl::Status Forward::Run(absl::Span<const ForwardRow> rows, const KvCache& cache, absl::Span<const int> wanted) {
  RETURN_IF_ERROR(CheckRows(rows, cache.groups()));
  RETURN_IF_ERROR(CheckWanted(wanted, static_cast<int>(rows.size())));
  TimelineScope scope(options_.timeline, Zone::kPass, static_cast<int>(rows.size()));
  wanted_.clear();  // Until the pass is whole there is nothing to take logits of.
  current_ = 0;
  if (rows.empty()) return absl::OkStatus();
  passes_begun_.fetch_add(1, std::memory_order_relaxed);
  RETURN_IF_ERROR(CheckCancelled());
  FillRowData(rows, cache.groups());
  for (const GroupRows& of_group : group_rows_) {
    RETURN_IF_ERROR(CheckSlotsDiffer(of_group.slots));
    if (static_cast<int>(rows.size()) > model_.rows_together()) RETURN_IF_ERROR(CheckOrder(of_group.paths));
  }
  RETURN_IF_ERROR(embedding_.LookUp(tokens_, *source_, store_, Hidden(0), FirstOfLayer(0, wanted.size() < rows.size()), options_.timeline));
  wanted_.assign(wanted.begin(), wanted.end());
  const absl::Status status = RunLayers(rows, cache);
  if (!status.ok()) {
    wanted_.clear();
    return status;
  }
  rows_done_.fetch_add(static_cast<int64_t>(rows.size()), std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status Forward::Logits(absl::Span<const int> chosen, TensorView<float> logits) {
  if (logits.rows() != static_cast<int64_t>(chosen.size()) || logits.columns() != config_.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("logits: found [", logits.rows(), ", ", logits.columns(), "], expected [",
                                                   chosen.size(), ", ", config_.vocabulary, "]"));
  }
  for (const int row : chosen) {
    if (!std::binary_search(wanted_.begin(), wanted_.end(), row)) {
      return RowError(row, "row of the last pass", row, absl::StrCat("one of the ", wanted_.size(), " that were wanted of it"));
    }
  }
  TimelineScope scope(options_.timeline, Zone::kHead, static_cast<int>(chosen.size()));
  for (size_t begin = 0; begin < chosen.size(); begin += row_capacity()) {
    const absl::Span<const int> some = chosen.subspan(begin, row_capacity());
    RETURN_IF_ERROR(Normalize(some));
    RETURN_IF_ERROR(RunHead(static_cast<int>(some.size()), logits.Rows(begin, some.size())));
  }
  return absl::OkStatus();
}

// Into the buffer of hidden states that is free between passes.
absl::Status Forward::Normalize(absl::Span<const int> chosen) {
  const int64_t stride = RowStride(config_.width);
  float* const picked = chosen_.as<float>();
  RunArguments arguments;
  for (size_t begin = 0; begin < chosen.size(); begin += kHeadRows) {
    const absl::Span<const int> some = chosen.subspan(begin, kHeadRows);
    for (size_t i = 0; i < some.size(); ++i) {
      const int64_t place = std::lower_bound(wanted_.begin(), wanted_.end(), some[i]) - wanted_.begin();
      std::memcpy(picked + i * stride, Hidden(current_).data + place * stride, config_.width * sizeof(float));
    }
    arguments.rows = static_cast<int>(some.size());
    arguments.buffers = {{picked, stride}, {Hidden(1 - current_).data + begin * stride, stride}};
    RETURN_IF_ERROR(RunBlock(model_.output_norm(), model_.layers(), arguments, model_.head(0)));
  }
  return absl::OkStatus();
}

// Each part of the head is leased once, however many rows there are: it may have to be read from far.
absl::Status Forward::RunHead(int rows, TensorView<float> logits) {
  const BoundBuffer normed = Hidden(1 - current_);
  const int end = model_.head(model_.head_parts());
  for (int block = model_.head(0); block < end; ++block) {
    const int64_t first_row = model_.block(block).parts[0].first_row;
    absl::Status status = LeaseUnits(block);
    for (int begin = 0; begin < rows && status.ok(); begin += kHeadRows) {
      RunArguments arguments;
      arguments.rows = std::min(kHeadRows, rows - begin);
      arguments.buffers = {{normed.data + begin * normed.row_stride, normed.row_stride},
                           {logits.data() + begin * logits.row_stride() + first_row, logits.row_stride()}};
      const bool goes_on = begin + kHeadRows >= rows && block + 1 < end;
      status = RunLeased(block, model_.layers(), arguments, goes_on ? block + 1 : kNone);
    }
    leases_.clear();
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace tessera
