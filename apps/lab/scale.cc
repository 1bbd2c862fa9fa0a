// Small models that think longer: many samples of a problem, and a choice among them.
#include "tessera/apps/lab/scale/commands/scale_commands.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_scale",
          .summary = "Writes many samples of a model's answers to public problems, and judges them and ways to choose among them.",
          .examples = {"tessera_scale run --data=FOLDER --task=gsm8k --samples=8 --into=samples.jsonl",
                       "tessera_scale judge --data=FOLDER --candidates=samples.jsonl --scorer=mean_log_probability",
                       "tessera_scale grid --data=FOLDER --task=gsm8k --texts=40 --samples=8 --into=grid",
                       "tessera_scale check --data=FOLDER --task=all"},
          .groups = {{"Output", {"json"}}}};
}

std::vector<Command> Commands() { return {ScaleRun(), ScaleScore(), ScaleJudge(), ScaleGrid(), ScaleReport(), ScaleTexts(), ScaleCheck()}; }

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::CommandsMain(argc, argv, tessera::Info(), tessera::Commands()); }
