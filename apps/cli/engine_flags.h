// From the flags of model, memory and streaming to what the runtime takes.
//
//   ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
//
// Errors are wrong usage of the flag that they are about (base/usage_error.h). Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include <gflags/gflags_declare.h>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/flag_group.h"
#include "tessera/base/timeline.h"
#include "tessera/model/files/model_file.h"
#include "tessera/runtime/engine.h"

DECLARE_string(model);
DECLARE_int32(threads);
DECLARE_int32(context);
DECLARE_string(path);
DECLARE_string(kernels);
DECLARE_string(kv_format);
DECLARE_bool(dry_run);
DECLARE_string(memory_budget);
DECLARE_string(pin);
DECLARE_string(io);
DECLARE_string(verify);
DECLARE_string(flash);

namespace tessera {

FlagGroup ModelFlags();        // --model --threads --context --path --kernels --kv_format --dry_run
FlagGroup StreamingFlags();    // --memory_budget --pin --io --verify --flash

// --model, or the default model in the cache. An error says how to fetch that.
absl::StatusOr<std::string> ModelPath();

// The file of --model. WrongUsage if it is a packed model.
absl::StatusOr<std::unique_ptr<ModelFile>> OpenGgufModel();

// When weights are streamed: under --memory_budget, or always, where budgets are the program's own.
enum class Streams { kUnderBudget, kAlways };

// All flags of both groups, checked before anything is read. What cancels is CancelRequested(). A flag that could change nothing is an
// error: a person who measures with one believes that it counts.
absl::StatusOr<EngineOptions> EngineOptionsOfFlags(Timeline* timeline, Streams streams = Streams::kUnderBudget);

// WrongUsage of a flag that counts only where weights are streamed, where they are not.
absl::Status CheckStreams(const std::string& flag, const EngineOptions& options, Streams streams = Streams::kUnderBudget);

}  // namespace tessera
