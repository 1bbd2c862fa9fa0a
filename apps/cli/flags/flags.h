// Every flag of every program, declared once: the same name means the same thing everywhere.
//
//   const AppInfo info = {.name = "tessera_logits", ..., .groups = {ModelFlags(), {"Output", {"jsonl", "top"}}}};
//   if (FLAGS_top < 1) ...
//
// A program takes only the flags of the program's groups (command_line.h). A flag's description in flags.cc is "PLACEHOLDER|its effect",
// short enough for a line of --help=all. The placeholder TEXT says that the value may be empty. docs/flags.md lists all flags.
#pragma once

#include <string>
#include <vector>

#include <gflags/gflags_declare.h>

// Model.
DECLARE_string(model);
DECLARE_int32(threads);
DECLARE_int32(context);
DECLARE_string(path);
DECLARE_string(recipe);
DECLARE_int32(kv_block);
DECLARE_string(device);
DECLARE_string(arithmetic);
DECLARE_string(switching);
DECLARE_int32(blocks);
DECLARE_string(kernels);
DECLARE_string(kv_format);
DECLARE_int32(cache_tokens);
DECLARE_string(memory_budget);
DECLARE_string(pin);
DECLARE_string(io);
DECLARE_string(verify);
DECLARE_string(flash);
DECLARE_string(adapter);
DECLARE_string(use_adapter);
DECLARE_string(lora_mode);
DECLARE_string(adapter_folder);
DECLARE_string(adapter_memory);
DECLARE_string(trace);
DECLARE_bool(dry_run);
// Speculation.
DECLARE_string(speculate);
DECLARE_string(draft_model);
DECLARE_string(tree);
DECLARE_string(prune);
DECLARE_double(prune_threshold);
DECLARE_string(accept);
DECLARE_string(history);
DECLARE_bool(history_prompts);
DECLARE_string(cost_profile);
// Sampling.
DECLARE_string(seed);
DECLARE_double(temperature);
DECLARE_int32(top_k);
DECLARE_double(top_p);
DECLARE_double(min_p);
DECLARE_double(repetition_penalty);
DECLARE_int32(penalty_window);
DECLARE_string(stop);
// Text.
DECLARE_string(prompt);
DECLARE_string(prompt_file);
DECLARE_string(system);
DECLARE_bool(raw);
DECLARE_bool(chat);
DECLARE_string(chat_template);
DECLARE_string(template_args);
DECLARE_bool(show_prompt);
DECLARE_int32(n_predict);
DECLARE_int32(answers);
DECLARE_bool(distinct_first_tokens);
DECLARE_int32(best_of);
DECLARE_string(select);
DECLARE_string(beam);
DECLARE_string(step_delimiter);
DECLARE_int32(most_steps);
DECLARE_string(session);
// Input and output.
DECLARE_bool(stats);
DECLARE_bool(json);
DECLARE_bool(jsonl);
DECLARE_int32(parallel);
DECLARE_bool(unordered);
// Flags of single programs.
DECLARE_string(prompts);
DECLARE_string(a);
DECLARE_string(b);
DECLARE_bool(special);
DECLARE_int32(top);
DECLARE_int32(window);
DECLARE_int32(max_windows);
DECLARE_string(layers);
DECLARE_string(logits);
DECLARE_string(numbers);
DECLARE_bool(generate);
DECLARE_string(tokens_of);
DECLARE_bool(graph);
DECLARE_int32(prompt_tokens);
DECLARE_int32(generate_tokens);
DECLARE_int32(depth);
DECLARE_int32(repetitions);
DECLARE_bool(mapped);
DECLARE_string(rows);
DECLARE_string(depths);
DECLARE_string(together);
DECLARE_int32(writers);
DECLARE_int32(long_prompt);
DECLARE_int32(decode);
DECLARE_int32(chunk_rows);
DECLARE_string(lora_ranks);
DECLARE_int32(adapters);
DECLARE_int32(rank);
DECLARE_int32(adapter_rank);
DECLARE_string(plot);
DECLARE_string(peer_curve);
DECLARE_string(data);
DECLARE_string(categories);
DECLARE_int32(texts);
DECLARE_string(curves);
DECLARE_string(recordings);
DECLARE_int32(most_barrier_nanos);
DECLARE_int32(writings);
DECLARE_bool(remember);
DECLARE_string(systems);
DECLARE_string(sweep);
DECLARE_string(prune_sweep);
DECLARE_double(ring_share);
DECLARE_string(memory_grid);
DECLARE_bool(reliability);
DECLARE_string(shape);
DECLARE_string(around);
DECLARE_string(format);
DECLARE_string(head_format);
DECLARE_string(scheme);
DECLARE_string(statistics);
DECLARE_string(off_grid);
DECLARE_string(table);
DECLARE_string(out);
DECLARE_string(task);
DECLARE_string(candidates);
DECLARE_string(into);
DECLARE_string(from);
DECLARE_string(report);
DECLARE_string(scorer);
DECLARE_string(samples);
DECLARE_string(counts);
DECLARE_string(methods);
DECLARE_int32(draws);
DECLARE_string(split);
DECLARE_string(steps);

namespace tessera {

// A group of flags that belong together, by name without dashes, under a title of --help=all.
struct FlagGroup {
  std::string title;
  std::vector<std::string> flags;
  std::vector<std::string> common = {};   // Names of flags that people use, which --help shows. Empty: all flags of the group.

  bool Shows(const std::string& flag) const;   // Whether --help shows this flag of the group.
};

// Returns true if the command line, a flag file or the environment sets the flag, even to the default value.
bool IsGiven(const std::string& flag);

FlagGroup ModelFlags();      // --model --threads --context --path --recipe --kv_block --kernels --kv_format --trace --dry_run
FlagGroup StreamingFlags();  // --memory_budget --pin --io --verify --flash
FlagGroup SpeculationFlags();  // --speculate --draft_model --tree --history --cost_profile
FlagGroup AdapterFlags();    // --adapter --use_adapter --lora_mode --adapter_memory --adapter_folder
FlagGroup SamplingFlags();   // --temperature --top_k --top_p --min_p --repetition_penalty --seed

}  // namespace tessera
