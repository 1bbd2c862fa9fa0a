// Peak memory of loading and running a model, and the limit: the size of the file, keys and values, and 64 MiB.
//
//   ASSIGN_OR_RETURN(const MeasuredMemory use, MeasureMemory(options, {.prompt_tokens = 512, .generate_tokens = 128}));
//   RETURN_IF_ERROR(WriteOutput(MemoryUseText(use)));
//
// The peaks are the whole process's, program and tokenizer included. So the process must not have loaded a model before. The result also
// has the bytes of the file that the system's page cache held before and after loading. No copy of the weights should stay there. Errors
// are the errors of loading and running. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct MeasuredMemory {                   // In bytes.
  static constexpr int64_t kBesides = int64_t{64} << 20;  // Program, tokenizer, scratch, logits.

  int64_t file = 0;
  int64_t cache = 0;                 // Keys and values of the whole context.
  std::optional<int64_t> peak_loading = {};  // nullopt: not known; likewise peak_running.
  std::optional<int64_t> peak_running = {};  // After loading, a prompt and generated tokens.
  int64_t in_page_cache_before = 0;  // Bytes of the file, before loading.
  int64_t in_page_cache_after = 0;
  int64_t Limit() const { return file + cache + kBesides; }
};

absl::StatusOr<MeasuredMemory> MeasureMemory(const EngineOptions& options, const BenchmarkOptions& benchmark);

std::string MemoryUseText(const MeasuredMemory& use);
void WriteMemoryUse(JsonWriter& json, const MeasuredMemory& use);

}  // namespace tessera
