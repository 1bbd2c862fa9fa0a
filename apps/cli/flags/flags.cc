#include "tessera/apps/cli/flags/flags.h"

#include <algorithm>

#include <gflags/gflags.h>

DEFINE_string(model, "", "FILE|A file (GGUF or .tsr), or a fetched model: smollm2 (default), gemma3, ...");
DEFINE_int32(threads, 0, "N|Most threads; 0: one per fast core within quota. Texts stay the same.");
DEFINE_int32(context, 0, "TOKENS|Most tokens of a text; 0: as many as the program needs, at most 8192.");
DEFINE_int32(cache_tokens, 0, "TOKENS|Most tokens of all texts together; 0: the default. At least --context.");
DEFINE_string(path, "fast", "NAME|fast: packed weights; npu: as a phone's NPU; reference: plain FP32.");
DEFINE_string(recipe, "", "LIST|Forms of weights: 001, ggml-hexagon, qnn, qnn-a8, fp16 or FORM,PART=FORM.");
DEFINE_int32(kv_block, 0, "N|Keys per block of attention on --path=npu: 16, 32, ... 4096; 0: 512.");
DEFINE_string(device, "", "PHONE|A phone and its clock: 8gen3, FILE:unshared:sustained; or host:unshared.");
DEFINE_string(arithmetic, "npu", "NAME|Arithmetic of --device: npu, as a phone; fast, with a phone's clock.");
DEFINE_string(switching, "auto", "NAME|Schedule of unshared graphs: none, padded, published, planned, ...");
DEFINE_int32(blocks, 0, "N|Blocks of layers that --switching moves; 0: chosen by measured times.");
DEFINE_string(kernels, "auto", "NAME|Kernels: auto, portable, avx2, avx512, neon. Bits stay the same.");
DEFINE_string(kv_format, "f16", "NAME|Format of keys and values: f16, or q8 with half the memory.");
DEFINE_string(memory_budget, "", "SIZE|Most memory of the process (4G: 4 GiB); other weights are streamed.");
DEFINE_string(pin, "auto", "NAME|Weights that a budget keeps in memory: auto, spread, prefix, none.");
DEFINE_string(io, "auto", "NAME|Way to read weights: auto, io_uring, pread or buffered.");
DEFINE_string(verify, "first", "WHEN?always|Check weights when read: first, always, never; inspect: all.");
DEFINE_string(flash, "", "NAME|Read weights at most at the speed of this flash: ufs4.0, ... or a file.");
DEFINE_string(adapter, "", "LIST|Adapters (LoRA): NAME:PATH or NAME:PATH:SCALE, comma-separated.");
DEFINE_string(lora_mode, "graph", "NAME|Adapter layout: graph (unpadded), input (padded), mask (stacked).");
DEFINE_string(adapter_folder, "", "FOLDER|Requests may name what lies here, too. Needs --adapter_memory.");
DEFINE_string(adapter_memory, "", "SIZE|Most memory of adapters; others are read when a request names them.");
DEFINE_string(use_adapter, "", "LIST|Adapter of texts that name none: NAME, NAME@SCALE,NAME or none.");
DEFINE_string(trace, "", "FILE|Write a timeline of the run for a trace viewer such as Perfetto.");
DEFINE_string(speculate, "auto", "LIST|none, auto or lookup,suffix,recycling,calibrated,reuse,siblings.");
DEFINE_string(draft_model, "", "FILE|A second model that drafts (--speculate=draft): a file, self:q3, ...");
DEFINE_string(tree, "", "NAME|Tree of the draft model: lever (default), chain:tokens=8, edgellm, ...");
DEFINE_string(prune, "", "FILE|Exit predictor that drops rows of drafts half-way through the layers.");
DEFINE_double(prune_threshold, 0.1, "X|Prune rows whose predicted share of the expected tokens is below X.");
DEFINE_string(accept, "match", "NAME|match keeps plain decoding's bits, rejection the distribution.");
DEFINE_string(history, "", "NAME|Draft from earlier answers in $TESSERA_CACHE/history/NAME-*; add new ones.");
DEFINE_bool(history_prompts, false, "|Keep prompts in the history, too. Needs --history.");
DEFINE_string(cost_profile, "", "FILE|Choose drafts by the costs in this file, which is made if missing.");
DEFINE_bool(dry_run, false, "|Load and write nothing; say what a run would load or write, and its size.");

DEFINE_string(seed, "0", "N|Same seed, same text; random draws one, as --chat at a terminal does.");
DEFINE_double(temperature, 0.8, "T|Temperature; 0: the likeliest token. Default: the model's, else 0.8.");
DEFINE_int32(top_k, 40, "K|Choose among the K likeliest; 0: all. Default: the model's, else 40.");
DEFINE_double(top_p, 0.95, "P|Choose among the likeliest with P in sum. Default: the model's, else 0.95.");
DEFINE_double(min_p, 0.05, "P|Drop tokens below P of the likeliest's. Default: the model's, else 0.05.");
DEFINE_double(repetition_penalty, 1.0, "X|Divide logits of last tokens by X; 1: off. Default: the model's, else 1.");
DEFINE_int32(penalty_window, 64, "N|Tokens of the answer that the penalty sees. Default: the model's, else 64.");
DEFINE_string(stop, "", "TEXT|End the answer before this text, or one of '[\"###\", \"User:\"]'.");

DEFINE_string(prompt, "", "TEXT|The prompt.");
DEFINE_string(prompt_file, "", "FILE|The prompt's file; -: standard input. A last line break is dropped.");
DEFINE_string(system, "", "TEXT|The system message. Default: the chat template's.");
DEFINE_bool(raw, false, "|Continue the prompt without a chat template; special tokens are read.");
DEFINE_bool(chat, false, "|A dialogue on standard input. At a terminal /help lists the commands.");
DEFINE_string(chat_template, "", "NAME|Chat template: chatml, llama3, gemma or none. Default: the file's.");
DEFINE_string(template_args, "", "JSON|More variables of the chat template: '{\"enable_thinking\": false}'.");
DEFINE_bool(show_prompt, false, "|Show the text of the dialogue that the model is given, not its tokens.");
DEFINE_string(session, "", "FILE|Continue the text in this file, if there is one, and save the text there.");
DEFINE_int32(n_predict, 512, "TOKENS|Most tokens of an answer; 0: until the context is full.");
DEFINE_int32(answers, 1, "K|Write K different answers to the prompt at once, numbered.");
DEFINE_bool(distinct_first_tokens, false, "|Begin each of --answers with another likely token. Writes a table.");
DEFINE_int32(best_of, 1, "N|Write N samples of the answer at once; keep the choice of --select.");
DEFINE_string(select, "best", "NAME|Choice of --best_of: best by --scorer; votes: majority, weighted.");
DEFINE_string(beam, "", "SHAPE|Beam search over steps, WxE (4x4): W texts, E continuations each.");
DEFINE_string(step_delimiter, "\\n\\n", "TEXT|The text that ends a step of --beam.");
DEFINE_int32(most_steps, 40, "N|Most steps of --beam; longer texts are cut there.");

DEFINE_bool(stats, false, "|Add statistics of drafts and streaming to the summary (standard error).");
DEFINE_bool(json, false, "|Write the result as JSON, also of --version and --help.");
DEFINE_bool(jsonl, false, "|Answer requests on standard input: JSON objects, one per line.");
DEFINE_int32(parallel, 1, "N|Answer N requests of --jsonl in shared passes.");
DEFINE_bool(unordered, false, "|Write answers of --parallel as they end, not in the order of requests.");

DEFINE_string(prompts, "", "FILE|Prompts, one per line: text or --jsonl object. Default: standard input.");
DEFINE_string(a, "speculate=none", "SETTINGS|First way to write: NAME=VALUE NAME=VALUE ...");
DEFINE_string(b, "speculate=auto", "SETTINGS|Second way to write.");

DEFINE_bool(special, false, "|Read special tokens in the text as tokens, not as plain characters.");
DEFINE_int32(top, 20, "N|Logits per position, the largest first.");
DEFINE_int32(window, 512, "TOKENS|Tokens per window; each window begins with an empty cache.");
DEFINE_int32(max_windows, 4, "N|Most windows of a text; 0: all.");
DEFINE_string(layers, "last", "LIST|Hidden states to write, after so many layers: 0,8,last; none.");
DEFINE_string(logits, "none", "NAME|Logits to write: none, all, or top:N, the N largest of each token.");
DEFINE_string(numbers, "f32", "NAME|Format of hidden states and logits: f32, or f16 with half the bytes.");
DEFINE_bool(generate, false, "|Let the model continue each text, and write those states, too.");
DEFINE_string(tokens_of, "", "FILE|Take the texts of this file of tessera_quantize states (same vocabulary).");
DEFINE_bool(graph, false, "|Show the static graphs: operators, buffers, weights and units.");
DEFINE_int32(prompt_tokens, 512, "N|Prompt length to time; bench speed, attention, memory: 0 is allowed.");
DEFINE_int32(generate_tokens, 128, "N|Tokens to generate and time; bench speed and memory: 0 is allowed.");
DEFINE_int32(depth, 0, "N|Tokens in the cache before the timed tokens.");
DEFINE_int32(repetitions, 5, "N|Timed runs, after one run that is not timed.");
DEFINE_string(rows, "default", "LIST|Numbers of rows up to 512, with 1: 1,2,4,8; default: up to 64.");
DEFINE_string(depths, "default", "LIST|Numbers of earlier tokens: 128,1024; default: up to 8192.");
DEFINE_string(together, "default", "LIST|Numbers of texts at once: 1,8; default: up to 16 (samples: 32).");
DEFINE_int32(writers, 8, "N|Texts written while other texts arrive, and texts written with drafts.");
DEFINE_int32(long_prompt, 4000, "N|Length of a prompt that is read beside other texts; 0: none.");
DEFINE_bool(mapped, false, "|For comparison: map the file, lock pinned weights, verify nothing.");
DEFINE_int32(decode, 128, "N|Tokens to decode in the report.");
DEFINE_int32(chunk_rows, 0, "N|Rows of a prompt pass; 0: 512, static graphs 128, unshared 256.");
DEFINE_string(lora_ranks, "", "LIST|Adapter ranks, such as 8,8,16: report the cost of each --lora_mode.");
DEFINE_int32(adapters, 100, "N|Adapters in memory, at least 8.");
DEFINE_int32(rank, 8, "N|Rank of the adapters.");
DEFINE_int32(adapter_rank, 0, "N|Rank of adapters that the graphs take as inputs; 0: no adapters.");
DEFINE_string(plot, "", "FILE|Draw the result to this file (SVG): curve of rows, gains, --reliability.");
DEFINE_string(peer_curve, "", "FILE|Draw the curve of this file, too: JSON with name, rows and seconds.");
DEFINE_string(data, "", "FOLDER|Folder of evaluation sets. Default: a few records of each set, built in.");
DEFINE_string(categories, "all", "LIST|Categories of prompts, comma-separated, or all.");
DEFINE_int32(texts, 48, "N|Most prompts of each category.");
DEFINE_string(curves, "", "FILE|Judged accuracies to show: of tessera_scale judge --json, or of a grid.");
DEFINE_string(recordings, "", "FILE|Recorded drafts: lines of tessera_bench spec --tree=ds2d:3,2 --json.");
DEFINE_int32(most_barrier_nanos, 0, "NS|Exclude texts with a thread barrier longer than NS; 0: none.");
DEFINE_int32(writings, 1, "N|Times that a text is written each way, in turns; the median counts.");
DEFINE_bool(remember, false, "|Draft also from this run's earlier answers of the same category.");
DEFINE_string(systems, "all", "LIST|Ways to write that are compared: flash_ar,chain,lever, ..., or all.");
DEFINE_string(sweep, "", "LIST|Trees to try; the best of a system counts: chain:tokens=4;edgellm:...");
DEFINE_string(prune_sweep, "", "LIST|Pruning rules to try; the best counts: threshold=0.02;threshold=0.05");
DEFINE_double(ring_share, 0, "SHARE|Stream through a ring of this share of the weights, nothing pinned.");
DEFINE_string(memory_grid, "", "LIST|Budgets to compare auto under, as shares of the weights: 0.25,0.5,0.8.");
DEFINE_bool(reliability, false, "|Compare the confidence of lever's draft with the observed acceptance.");
DEFINE_string(shape, "1b", "NAME|Model size: 1b, 4b, tiny; npu_report, scale: qwen2.5-1.5b, ...");
DEFINE_string(around, "", "FILE|Write a model of size --shape with the logits of this small GGUF model.");
DEFINE_string(format, "", "NAME|Block format of the layers' matrices. Default: Q4_0, or the model's.");
DEFINE_string(head_format, "", "NAME|Block format of embedding and head. Default: the layers', or the model's.");
DEFINE_string(scheme, "", "LIST|Forms of matrices: a recipe (001, qnn, ...) or FORM,PART=FORM.");
DEFINE_string(statistics, "", "FILE|Weigh errors of scales by input sizes, from tessera_quantize statistics.");
DEFINE_string(off_grid, "", "N|Seed. Change weights but no logits, so that no scheme fits them exactly.");
DEFINE_string(table, "", "LIST|A table: attention (perplexity), RECIPE;... (quantize), NAME (reproduce).");
DEFINE_string(out, "", "FILE|The file to write.");
DEFINE_string(task, "gsm8k", "NAME|gsm8k, math500, humaneval, mbpp; judge: math_steps; grid: a list.");
DEFINE_string(candidates, "", "FILE|Samples to judge, one JSON object per line. Default: those of --data.");
DEFINE_string(into, "", "FILE|Add answers (--jsonl) or samples to this file (grid: folder); go on.");
DEFINE_string(from, "", "LIST|Grid folders to report on, comma-separated.");
DEFINE_string(report, "", "FILE|The HTML page to write. Default of grid: report.html in its folder.");
DEFINE_string(scorer, "", "NAME|self_certainty, mean_log_probability, reward:FILE, judge[:FILE], ...");
DEFINE_string(samples, "default", "LIST|Numbers of samples: 1,8; default: 1, 2, 4, ... 32; run, grid: 8.");
DEFINE_string(counts, "default", "LIST|Samples to choose from: 1,2,4,8; default: up to --samples.");
DEFINE_string(methods, "one,majority,weighted,best_of_n", "LIST|Methods that a grid compares; also beam.");
DEFINE_int32(draws, 200, "N|Orders of a question's samples to try, or draws of walks.");
DEFINE_string(steps, "last", "NAME|Score of a text's lines by a reward head: last, min or product.");
DEFINE_string(split, "all", "NAME|Questions: all, or one half of them by their texts: train, test.");

namespace tessera {

bool FlagGroup::Shows(const std::string& flag) const {
  return common.empty() || std::find(common.begin(), common.end(), flag) != common.end();
}

bool IsGiven(const std::string& flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default; }

FlagGroup ModelFlags() {
  return {"Model",
          {"model", "threads", "context", "path", "recipe", "kv_block", "kernels", "kv_format", "trace", "dry_run"},
          {"model", "threads", "context"}};
}

FlagGroup StreamingFlags() { return {"Memory and streaming", {"memory_budget", "pin", "io", "verify", "flash"}, {"memory_budget"}}; }

FlagGroup SpeculationFlags() {
  return {"Speculation", {"speculate", "draft_model", "tree", "history", "cost_profile"}, {"speculate", "history"}};
}

FlagGroup AdapterFlags() { return {"Adapters", {"adapter", "use_adapter", "lora_mode", "adapter_memory", "adapter_folder"}, {"adapter"}}; }

FlagGroup SamplingFlags() {
  return {"Sampling",
          {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "penalty_window", "seed"},
          {"temperature", "top_p", "seed", "stop"}};
}

}  // namespace tessera
