// Returns the flags of a short run that ends well, for each program and subcommand. Further flags can follow.
//
//   RunProgram("tessera_generate", ShortRun("tessera_generate"), "the in the");
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {

// Returns the flags of a subcommand of tessera_scale.
inline std::vector<std::string> ShortScaleRun(const std::string& program, const std::string& samples) {
  std::vector<std::string> arguments = {"--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation"};
  if (program == "tessera_scale run") {
    arguments.insert(arguments.end(),
                     {"--model=" + TinyPath("llama"), "--texts=1", "--samples=1", "--n_predict=2", "--into=" + samples});
  }
  if (program == "tessera_scale grid") {
    arguments.insert(arguments.end(),
                     {"--model=" + TinyPath("llama"), "--texts=1", "--samples=2", "--n_predict=2", "--into=" + samples + ".grid"});
  }
  if (program == "tessera_scale report") {
    static const int made = RunProgram("tessera_scale grid", ShortScaleRun("tessera_scale grid", samples)).code;
    CHECK_EQ(made, 0);
    return {"--from=" + samples + ".grid"};
  }
  if (program == "tessera_scale score" || program == "tessera_scale texts") {
    static const int made = RunProgram("tessera_scale run", ShortScaleRun("tessera_scale run", samples + ".recorded")).code;
    CHECK_EQ(made, 0);
    const std::string written = program == "tessera_scale score" ? "--into=" + samples + ".scored" : "--out=" + samples + ".labels";
    arguments.insert(arguments.end(), {"--model=" + TinyPath("llama"), "--candidates=" + samples + ".recorded", written});
  }
  return arguments;
}

inline std::vector<std::string> ShortRun(const std::string& program) {
  static const TemporaryFolder written;
  if (program == "tessera_random_model") return {"--shape=tiny", "--out=" + written.Path("model.gguf")};
  if (program == "tessera_bench" || program == "tessera_scale") return {};  // Both do nothing without a subcommand.
  if (program.rfind("tessera_reproduce", 0) == 0 && program.rfind("tessera_reproduce record", 0) != 0) return {};
  if (program.rfind("tessera_scale ", 0) == 0) return ShortScaleRun(program, written.Path("samples.jsonl"));
  if (program == "tessera_bench products") return {"--repetitions=1"};
  std::vector<std::string> arguments = {"--model=" + TinyPath("llama")};
  if (program == "tessera_pack") arguments.push_back("--out=" + written.Path("packed.tsr"));
  if (program == "tessera_quantize") arguments.insert(arguments.end(), {"--head_format=Q4_1", "--out=" + written.Path("quantized.gguf")});
  if (program == "tessera_generate" || program == "tessera_verify") arguments.push_back("--n_predict=2");
  if (program == "tessera_perplexity") arguments.push_back("--window=4");
  const std::string data = "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  const std::map<std::string, std::vector<std::string>> more = {
      {"tessera_quantize statistics", {"--window=32", "--out=" + written.Path("statistics.gguf")}},
      {"tessera_quantize states", {"--window=32", "--out=" + written.Path("states.safetensors")}},
      {"tessera_bench spec", {data, "--categories=gsm8k", "--texts=1", "--generate_tokens=2"}},
      {"tessera_reproduce record", {data, "--speculate=lookup", "--categories=ui", "--texts=1", "--generate_tokens=2"}},
      {"tessera_reproduce record_draft",
       {data, "--draft_model=" + TinyPath("llama"), "--categories=gsm8k", "--texts=1", "--generate_tokens=2"}},
      {"tessera_bench speed", {"--prompt_tokens=2", "--generate_tokens=1", "--repetitions=1"}},
      {"tessera_bench overhead", {"--generate_tokens=3", "--repetitions=1"}},
      {"tessera_bench threads", {"--prompt_tokens=2", "--generate_tokens=3", "--repetitions=1"}},
      {"tessera_bench roofline", {"--prompt_tokens=2", "--generate_tokens=1", "--repetitions=1"}},
      {"tessera_bench rows", {"--rows=1,2", "--repetitions=1"}},
      {"tessera_bench adapters", {"--adapters=8", "--rank=2", "--depth=4", "--generate_tokens=16", "--repetitions=1"}},
      {"tessera_bench attention", {"--depths=4", "--prompt_tokens=2", "--generate_tokens=1", "--repetitions=1"}},
      {"tessera_bench batch",
       {"--together=1", "--writers=1", "--generate_tokens=1", "--prompt_tokens=1", "--long_prompt=0", "--speculate=none",
        "--repetitions=1"}},
      {"tessera_bench samples", {data, "--together=1", "--generate_tokens=2", "--repetitions=1", "--speculate=none", "--context=1000"}},
      {"tessera_lever",
       {data, "--draft_model=" + TinyPath("llama"), "--categories=gsm8k", "--texts=1", "--generate_tokens=2",
        "--systems=flash_ar,lever", "--reliability"}},
      {"tessera_bench memory", {"--prompt_tokens=2", "--generate_tokens=1"}}};
  if (const auto found = more.find(program); found != more.end()) {
    arguments.insert(arguments.end(), found->second.begin(), found->second.end());
  }
  return arguments;
}

}  // namespace tessera
