#include "tessera/apps/cli/flags.h"

#include <gflags/gflags.h>

DEFINE_string(model, "", "FILE|The model, GGUF or packed (.tsr). Default: that of scripts/fetch_model.sh.");
DEFINE_int32(threads, 0, "N|Most threads; 0: one per CPU within a quota. The result is the same.");
DEFINE_int32(context, 0, "TOKENS|Most tokens of a text; 0: what the program needs, at most 8192.");
DEFINE_int32(cache_tokens, 0, "TOKENS|Tokens of all texts at once, at least the context; 0: as usual.");
DEFINE_string(path, "fast", "NAME|fast: packed weights; npu: as a phone's NPU; reference: plain FP32.");
DEFINE_string(recipe, "", "LIST|Form of weights: 001, ggml-hexagon, qnn, qnn-a8, fp16, or FORM,PART=FORM.");
DEFINE_int32(kv_block, 0, "N|Keys per block of attention on --path=npu: 16, 32, ... 4096; 0: 512.");
DEFINE_string(device, "", "PHONE|A phone, by its clock: 8gen3, FILE:unshared:sustained; or host:unshared.");
DEFINE_string(arithmetic, "npu", "NAME|With --device: npu, as a phone computes; fast: with the same clock.");
DEFINE_string(switching, "auto", "NAME|When unshared graphs change: none, padded, published, planned, ...");
DEFINE_int32(blocks, 0, "N|Blocks of layers that --switching moves; 0: chosen by measured times.");
DEFINE_string(kernels, "auto", "NAME|auto, portable, avx2, avx512 or neon. All give the same bits.");
DEFINE_string(kv_format, "f16", "NAME|Store keys and values as f16, or as q8: 8 bits, half the memory.");
DEFINE_string(memory_budget, "", "SIZE|Most memory of the process (4G is 4 GiB); weights beyond it are streamed.");
DEFINE_string(pin, "auto", "NAME|Which weights a budget keeps in memory: auto, spread, prefix, none.");
DEFINE_string(io, "auto", "NAME|How weights are read: io_uring, pread, buffered; auto: what works.");
DEFINE_string(verify, "first", "WHEN?always|Check weights read: first (once), always, never; inspect: all.");
DEFINE_string(flash, "", "NAME|Read weights no faster than this flash: ufs4.0, ... or a profile's file.");
DEFINE_string(adapter, "", "LIST|Adapters (LoRA): NAME:PATH or NAME:PATH:SCALE, with commas between.");
DEFINE_string(lora_mode, "graph", "NAME|How memory has adapters: graph, as they are; input, padded; or mask.");
DEFINE_string(adapter_memory, "", "SIZE|Most memory of adapters; others are read as requests name them.");
DEFINE_string(use_adapter, "", "NAME|The adapter of a text that names none; none: the model as it is.");
DEFINE_string(trace, "", "FILE|Write a timeline of the run, for a trace viewer such as Perfetto.");
DEFINE_string(speculate, "auto", "LIST|none; auto: all; lookup,suffix,recycling,calibrated,reuse,siblings.");
DEFINE_string(draft_model, "", "FILE|A second model that drafts, too (--speculate=draft): a file, self:q3, ...");
DEFINE_string(tree, "", "NAME|What it drafts: lever (without it), chain:tokens=8, edgellm, eagle2, ...");
DEFINE_string(prune, "", "FILE|Drop rows of its drafts half-way, by this predictor, where that saves time.");
DEFINE_double(prune_threshold, 0.1, "X|Rows go that the predictor gives less than X of what may come.");
DEFINE_string(accept, "match", "NAME|match: bits of plain decoding; rejection: its law, by draws.");
DEFINE_string(history, "", "NAME|Draft also from answers in $TESSERA_CACHE/history/NAME-*; keep these, too.");
DEFINE_bool(history_prompts, false, "|Keep prompts in the history, too. Needs --history.");
DEFINE_string(cost_profile, "", "FILE|Choose drafts by the costs in this file; written if it is not there.");
DEFINE_bool(dry_run, false, "|Load and write nothing; say what a run would load or write, and its size.");

DEFINE_string(seed, "0", "N|The same seed gives the same result; random takes any, and says it.");
DEFINE_double(temperature, 0.8, "T|Temperature of sampling; 0: always choose the likeliest token.");
DEFINE_int32(top_k, 40, "K|Choose among the K likeliest tokens; 0: no limit.");
DEFINE_double(top_p, 0.95, "P|Choose among the likeliest that have probability P in sum; 1: all.");
DEFINE_double(min_p, 0.05, "P|Leave out tokens below P of the likeliest's probability; 0: none.");
DEFINE_double(repetition_penalty, 1.0, "X|Divide logits of the answer's last tokens by X; 1: no penalty.");
DEFINE_int32(penalty_window, 64, "N|Tokens of the answer that the penalty looks back at; 0: none.");
DEFINE_string(stop, "", "TEXT|End the answer before this text, or one of '[\"###\", \"User:\"]'.");

DEFINE_string(prompt, "", "TEXT|The prompt.");
DEFINE_string(prompt_file, "", "FILE|File with the prompt; - is standard input. A last line break is dropped.");
DEFINE_string(system, "", "TEXT|The system message. Without it: the chat template's own.");
DEFINE_bool(raw, false, "|Continue the prompt as it is: no chat template; special tokens are read.");
DEFINE_bool(chat, false, "|A dialogue: every line is a message. /reset forgets, /exit ends.");
DEFINE_string(chat_template, "", "NAME|chatml, llama3, gemma or none, instead of what the file names.");
DEFINE_string(template_args, "", "JSON|More variables for the chat template: '{\"enable_thinking\": false}'.");
DEFINE_bool(show_prompt, false, "|Show the text of the dialogue, as the model is given it, instead of its tokens.");
DEFINE_string(session, "", "FILE|Go on from the text in this file, if it is there, and keep it there.");
DEFINE_int32(n_predict, 512, "TOKENS|Most tokens of an answer; 0: until the context is full.");
DEFINE_int32(answers, 1, "K|Write K different answers to the prompt at once, numbered.");
DEFINE_bool(distinct_first_tokens, false, "|Begin each of --answers with another of the likeliest first tokens; as a table.");
DEFINE_int32(best_of, 1, "N|Write N samples of the answer at once; keep one of them, by --select.");
DEFINE_string(select, "best", "NAME|The sample that --best_of keeps: best by --scorer, or by a vote of answers: majority, weighted.");
DEFINE_string(beam, "", "SHAPE|Beam search over steps, WxE (4x4): keep W texts, go on E times from each, by --scorer.");
DEFINE_string(step_delimiter, "\\n\\n", "TEXT|Ends a step of --beam, and is a part of it.");
DEFINE_int32(most_steps, 40, "N|Most steps of --beam: texts that have not ended by then are cut there.");

DEFINE_bool(stats, false, "|Say after the summary what drafts and streaming gave, on standard error.");
DEFINE_bool(json, false, "|Write the result as JSON, also that of --version and --help.");
DEFINE_bool(jsonl, false, "|Answer JSON requests from standard input, one per line; so are answers.");
DEFINE_int32(parallel, 1, "N|Write answers to N requests of --jsonl in passes that they share.");
DEFINE_bool(unordered, false, "|Write answers to --parallel requests as they end, not in their order.");

DEFINE_string(prompts, "", "FILE|Prompts, one per line: a text, or an object as for --jsonl. Without it: standard input.");
DEFINE_string(a, "speculate=none", "SETTINGS|First way to write: NAME=VALUE NAME=VALUE ...");
DEFINE_string(b, "speculate=auto", "SETTINGS|Second way to write.");

DEFINE_bool(special, false, "|Read special tokens in the text as such, not as plain characters.");
DEFINE_int32(top, 20, "N|Logits to write for each position, the largest first.");
DEFINE_int32(window, 512, "TOKENS|Tokens per window; each window is computed from an empty cache.");
DEFINE_int32(max_windows, 4, "N|Windows to take from a text; 0: all.");
DEFINE_string(layers, "last", "LIST|Hidden states to write: after so many layers, such as 0,8,last; none: none.");
DEFINE_string(logits, "none", "NAME|Logits to write: none, all, or top:N, the N largest of each token.");
DEFINE_string(numbers, "f32", "NAME|Hidden states and logits in the file: f32, or f16, half the bytes.");
DEFINE_bool(generate, false, "|Let the model go on with each text, and write the states of that, too.");
DEFINE_string(tokens_of, "", "FILE|Take the texts of this file, which tessera_states wrote with a model of the same tokens.");
DEFINE_bool(graph, false, "|Show the static graphs: operators, buffers and their places, weights and units.");
DEFINE_int32(prompt_tokens, 512, "N|Length of the prompt to time; bench speed, attention and memory take 0, too.");
DEFINE_int32(generate_tokens, 128, "N|Tokens to generate and time; bench speed and memory take 0, too.");
DEFINE_int32(depth, 0, "N|Tokens in the cache before those that are timed.");
DEFINE_int32(repetitions, 5, "N|Runs to time, after one that is not timed.");
DEFINE_string(rows, "default", "LIST|Numbers of rows: 1 and others up to 512, such as 1,2,4,8; default: up to 64.");
DEFINE_string(depths, "default", "LIST|Numbers of earlier tokens, such as 128,1024; default: up to 8192.");
DEFINE_string(together, "default", "LIST|Numbers of texts at once, such as 1,8; default: up to 16, of samples up to 32.");
DEFINE_int32(writers, 8, "N|Texts that are written while others come, and with drafts.");
DEFINE_int32(long_prompt, 4000, "N|Length of a prompt that is read beside texts; 0: none.");
DEFINE_bool(mapped, false, "|To compare: map the file, lock the pins in memory, verify nothing.");
DEFINE_int32(decode, 128, "N|Tokens to decode, for a report.");
DEFINE_int32(chunk_rows, 0, "N|Rows of a pass over the prompt; 0: 512, of static graphs 128, of unshared ones 256.");
DEFINE_string(lora_ranks, "", "LIST|Ranks of several tasks' adapters, such as 8,8,16: what each --lora_mode takes.");
DEFINE_int32(adapters, 100, "N|Adapters that are in memory, at least 8.");
DEFINE_int32(rank, 8, "N|Their rank.");
DEFINE_int32(adapter_rank, 0, "N|Rank of adapters that graphs take as inputs; 0: none.");
DEFINE_string(plot, "", "FILE|Draw the result to this file, as SVG: the curve of rows, gains, or --reliability.");
DEFINE_string(peer_curve, "", "FILE|Draw also the curve in this file: JSON with name, rows and seconds.");
DEFINE_string(data, "", "FOLDER|Folder of the evaluation sets; without it, a few records of each, which are built in.");
DEFINE_string(categories, "all", "LIST|Sorts of prompts, separated by commas, or all.");
DEFINE_int32(texts, 48, "N|Most prompts of each sort.");
DEFINE_string(curves, "", "FILE|Accuracies to show beside times: lines of tessera_scale judge --json, or of a grid's results.");
DEFINE_string(recordings, "", "FILE|What drafts gave: lines of tessera_spec_bench --tree=ds2d:3,2 --json.");
DEFINE_int32(most_barrier_nanos, 0,
             "NS|Exclude texts during which a thread barrier took longer than NS from gains and tokens per pass; 0 excludes none.");
DEFINE_int32(writings, 1, "N|How often a text is written each way, in turns; the text of median time counts.");
DEFINE_bool(remember, false, "|Draft also from this run's earlier answers to prompts of the same sort.");
DEFINE_string(systems, "all", "LIST|Ways to write that are compared: flash_ar,chain,lever, ..., or all.");
DEFINE_string(sweep, "", "LIST|Trees to try, the best of a system counts: edgellm:threshold=0.2;chain:tokens=4.");
DEFINE_string(prune_sweep, "", "LIST|Rules of pruning to try, the best counts: threshold=0.02;threshold=0.05,tau=2.");
DEFINE_double(ring_share, 0, "SHARE|Stream in a ring of this share of the weights at most, and pin nothing.");
DEFINE_string(memory_grid, "", "LIST|Compare auto under budgets for these shares of the weights: 0.25,0.5,0.8.");
DEFINE_bool(reliability, false, "|Show how often guesses of lever's draft came true, beside what was expected.");
DEFINE_string(shape, "1b", "NAME|Size of the model: 1b, 4b or tiny; npu_report, scale: a published one, qwen2.5-1.5b, ...");
DEFINE_string(around, "", "FILE|Write a model with the logits of this small GGUF model, in the size of --shape.");
DEFINE_string(format, "", "NAME|Block format of the layers' matrices; without it: Q4_0, or that of the model.");
DEFINE_string(head_format, "", "NAME|Block format of embedding table and head; without it: that of the layers, or of the model.");
DEFINE_string(scheme, "", "LIST|Form of matrices: a recipe (001, qnn, ...), or FORM,PART=FORM: Q4_0, T3, int4-tile,ffn_down=int8-tile.");
DEFINE_string(statistics, "", "FILE|Weigh errors in searches for scales by how large inputs are, as tessera_statistics found.");
DEFINE_string(off_grid, "", "N|With this seed, change weights but not logits, so that no scheme's grid holds them: to compare schemes.");
DEFINE_string(table, "",
              "LIST|A table: attention (perplexity); all, or recipes separated by semicolons (quantize); a report's (reproduce).");
DEFINE_string(out, "", "FILE|Where to write.");
DEFINE_string(task, "gsm8k", "NAME|gsm8k, math500, humaneval or mbpp; check, grid: a list, or all; judge: also math_steps.");
DEFINE_string(candidates, "", "FILE|Samples to judge, a JSON object per line; without it, those of --data.");
DEFINE_string(into, "", "FILE|Samples are added to this file, or to those of this folder (grid); what is there is not written again.");
DEFINE_string(from, "", "LIST|Folders of tessera_scale grid that a report is of, with commas between.");
DEFINE_string(report, "", "FILE|Where the page goes, HTML in one file; grid: report.html in its folder without it.");
DEFINE_string(scorer, "", "NAME|Scores samples: mean_log_probability, self_certainty, reward:FILE, judge[:FILE]; "
              "tessera_scale judge: arithmetic, brevity, random, or a figure of --candidates. The first without it.");
DEFINE_string(samples, "default", "LIST|Numbers N of samples, such as 1,8; default: powers of two up to 32; run, grid: one, 8.");
DEFINE_string(counts, "default", "LIST|Numbers N among which a grid chooses, such as 1,2,4,8; default: powers of two up to --samples.");
DEFINE_string(methods, "one,majority,weighted,best_of_n", "LIST|How a grid chooses among N: one, majority, weighted, best_of_n, beam.");
DEFINE_int32(draws, 200, "N|Orders of a question's samples that are tried, or draws of walks.");
DEFINE_string(steps, "last", "NAME|What the lines of a text come to for a reward head: the last one's score, min or product.");
DEFINE_string(split, "all", "NAME|Questions: all, or one half of them by their texts: train, test.");

namespace tessera {

bool IsGiven(const std::string& flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default; }

FlagGroup ModelFlags() {
  return {"Model", {"model", "threads", "context", "path", "recipe", "kv_block", "kernels", "kv_format", "trace", "dry_run"}};
}

FlagGroup StreamingFlags() { return {"Memory and streaming", {"memory_budget", "pin", "io", "verify", "flash"}}; }

FlagGroup SpeculationFlags() { return {"Speculation", {"speculate", "draft_model", "tree", "history", "cost_profile"}}; }

FlagGroup AdapterFlags() { return {"Adapters", {"adapter", "use_adapter", "lora_mode", "adapter_memory"}}; }

FlagGroup SamplingFlags() {
  return {"Sampling", {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "penalty_window", "seed"}};
}

}  // namespace tessera
