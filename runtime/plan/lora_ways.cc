#include "tessera/runtime/plan/lora_ways.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/model/adapter_set.h"

namespace tessera {
namespace {

// An adapter of this rank on all matrices.
int64_t BytesOf(const ModelConfig& config, int rank) {
  int64_t numbers = 0;
  for (const LoraShape& shape : LoraShapesOf(config)) numbers += shape.in + shape.out;
  return numbers * rank * static_cast<int64_t>(sizeof(uint16_t));
}

absl::StatusOr<LoraWay> WayOf(LoraMode mode, int rank, const PassCoster& coster, const PassShape& chunk, const PassShape& row) {
  const PassCoster adapted = coster.WithAdapters(rank, mode == LoraMode::kMask);
  ASSIGN_OR_RETURN(const PassCost of_chunk, adapted.Of(chunk));
  ASSIGN_OR_RETURN(const PassCost of_row, adapted.Of(row));
  return LoraWay{.mode = mode, .rank = rank, .chunk_seconds = of_chunk.seconds, .row_seconds = of_row.seconds};
}

}  // namespace

int ComputedRank(LoraMode mode, absl::Span<const int> ranks) {
  return mode == LoraMode::kMask ? std::accumulate(ranks.begin(), ranks.end(), 0) : *std::max_element(ranks.begin(), ranks.end());
}

absl::StatusOr<std::vector<LoraWay>> CostsByLoraMode(const PassCoster& coster, const ModelConfig& config, const DeviceProfile& profile,
                                                     const ExecutionStyle& style, absl::Span<const int> ranks, const PassShape& chunk,
                                                     const PassShape& row) {
  const int tasks = static_cast<int>(ranks.size());
  const int64_t bytes = BytesOf(config, ComputedRank(LoraMode::kMask, ranks));
  std::vector<LoraWay> ways;
  for (const LoraMode mode : {LoraMode::kInput, LoraMode::kMask}) {
    ASSIGN_OR_RETURN(LoraWay way, WayOf(mode, ComputedRank(mode, ranks), coster, chunk, row));
    way.bytes = bytes;
    if (mode == LoraMode::kInput) {
      const int64_t padded = BytesOf(config, way.rank);
      way.bytes = tasks * padded;
      way.padding_bytes = way.bytes - bytes;
      way.switch_seconds = static_cast<double>(padded) / profile.cpu_bytes_per_second;
    }
    ways.push_back(way);
  }
  for (const int rank : std::set<int>(ranks.begin(), ranks.end())) {
    ASSIGN_OR_RETURN(LoraWay way, WayOf(LoraMode::kGraph, rank, coster, chunk, row));
    way.graphs = tasks;
    way.bytes = bytes;
    way.switch_seconds = style.shared_weights ? profile.switch_seconds : coster.LoadSeconds();
    ways.push_back(way);
  }
  return ways;
}

std::string LoraWaysText(absl::Span<const LoraWay> ways) {
  constexpr Table::Align kRight = Table::Align::kRight;
  Table table({{"adapters by"}, {"rank", kRight}, {"graphs", kRight}, {"MiB", kRight}, {"padding", kRight}, {"chunk ms", kRight},
               {"one row ms", kRight}, {"another task ms", kRight}});
  const auto mebibytes = [](int64_t bytes) { return absl::StrFormat("%.1f", static_cast<double>(bytes) / 1048576.0); };
  const auto milliseconds = [](double seconds) { return absl::StrFormat("%.2f", seconds * 1e3); };
  for (const LoraWay& way : ways) {
    table.AddRow({std::string(LoraModeName(way.mode)), absl::StrCat(way.rank), absl::StrCat(way.graphs), mebibytes(way.bytes),
                  mebibytes(way.padding_bytes), milliseconds(way.chunk_seconds), milliseconds(way.row_seconds),
                  milliseconds(way.switch_seconds)});
  }
  return table.ToString();
}

void WriteLoraWays(absl::Span<const LoraWay> ways, JsonWriter& json) {
  json.BeginArray();
  for (const LoraWay& way : ways) {
    json.BeginObject().Key("lora_mode").String(LoraModeName(way.mode)).Key("rank").Int(way.rank).Key("graphs").Int(way.graphs);
    json.Key("bytes").Int(way.bytes).Key("padding_bytes").Int(way.padding_bytes);
    json.Key("chunk_milliseconds").Double(way.chunk_seconds * 1e3, 6).Key("row_milliseconds").Double(way.row_seconds * 1e3, 6);
    json.Key("switch_milliseconds").Double(way.switch_seconds * 1e3, 6).EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
