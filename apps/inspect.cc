// Shows what is in a model file, and the static graphs it is run as.
#include "tessera/apps/common/app_main.h"
#include "tessera/apps/common/describe_file.h"
#include "tessera/apps/common/describe_graph.h"
#include "tessera/apps/common/engine_flags.h"
#include "tessera/apps/common/output.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_inspect",
          .summary = "Shows a model file's metadata and tensors or, with --graph, the static graphs it is run as. Reads no weights.",
          .examples = {"tessera_inspect --model model.gguf", "tessera_inspect --graph", "tessera_inspect --graph --json"},
          .groups = {{"Model", {"model", "path"}}, {"Output", {"graph", "json"}}}};
}

absl::Status ShowGraphs(const GgufFile& file, ComputePath path) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  const WeightEncoding encoding = path == ComputePath::kReference ? WeightEncoding::kFloat32 : WeightEncoding::kPacked;
  ASSIGN_OR_RETURN(const WeightLayout layout, WeightLayout::Plan(file, config, encoding));
  ASSIGN_OR_RETURN(const std::vector<DescribedGraph> graphs, GraphsOf(config, layout, EngineOptions().row_capacity));
  return WriteOutput(FLAGS_json ? GraphsJson(graphs) : GraphsText(graphs));
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const ComputePath compute_path, ComputePathFromName(FLAGS_path));
  ASSIGN_OR_RETURN(const std::string path, ModelPath());
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(path));
  if (FLAGS_graph) return ShowGraphs(*file, compute_path);
  return WriteOutput(FLAGS_json ? FileJson(*file) : FileText(*file));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
