// Reproduces what papers say: a subcommand for each kind of figure.
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_reproduce",
          .summary = "Shows figures of papers beside what the engine and its models of phones say.",
          .examples = {"tessera_reproduce npu", "tessera_reproduce sdnpu", "tessera_reproduce onemodel", "tessera_reproduce lever",
                       "tessera_reproduce scaling"},
          .groups = {{"Output", {"json"}}}};
}

std::vector<Command> Commands() {
  return {ReproduceNpu(),     ReproduceSdnpu(),  ReproduceOnemodel(),   ReproduceLever(),
          ReproduceScaling(), ReproduceRecord(), ReproduceRecordDraft()};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::CommandsMain(argc, argv, tessera::Info(), tessera::Commands()); }
