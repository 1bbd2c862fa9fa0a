#include "tessera/apps/cli/flags.h"

#include <gflags/gflags.h>

DEFINE_string(model, "", "FILE|The model, GGUF or packed (.tsr). Without it: that of scripts/fetch_model.sh.");
DEFINE_int32(threads, 0, "N|Most threads that compute; 0: one for each CPU. The result is the same.");
DEFINE_int32(context, 0, "TOKENS|Most tokens of prompt and answer; 0: the model's own, at most 8192.");
DEFINE_string(path, "fast", "NAME|fast: packed weights; reference: FP32, slow, a yardstick.");
DEFINE_string(kernels, "auto", "NAME|auto, portable, avx2, avx512 or neon. All give the same bits.");
DEFINE_string(kv_format, "f16", "NAME|Keys and values in f16, or in q8: 8 bits, half the memory.");
DEFINE_string(memory_budget, "", "SIZE|Most memory to take (MiB, GiB): of a packed model the rest is streamed.");
DEFINE_string(pin, "auto", "NAME|What of it stays in memory: auto, spread, prefix or none.");
DEFINE_string(io, "auto", "NAME|How it is read: io_uring, pread, buffered; auto: by what works.");
DEFINE_string(verify, "first", "WHEN?always|Check what is read: first, always, never; inspect: the whole file.");
DEFINE_string(flash, "", "NAME|Read no faster than this flash: ufs4.0, ... or a profile's file.");
DEFINE_string(trace, "", "FILE|Write a timeline of the run there, for a trace viewer such as Perfetto.");
DEFINE_string(speculate, "auto",
              "LIST|Draft tokens for passes to check, the text is the same: none, auto (all), or some of "
              "lookup,suffix,recycling,calibrated,reuse.");
DEFINE_string(history, "",
              "NAME|Draft from answers kept under this name, too, and keep those of this run: in $TESSERA_CACHE/history/NAME-*, "
              "to be deleted at will.");
DEFINE_bool(history_prompts, false, "|Keep prompts in the history, too; an error without --history.");
DEFINE_string(cost_profile, "", "FILE|Costs by which drafts are chosen, always the same; written if not there.");
DEFINE_bool(dry_run, false, "|Load and write nothing; say what a run would load or write, and its size.");

DEFINE_uint64(seed, 0, "N|Start of the random numbers: same seed, same result.");
DEFINE_double(temperature, 0.8, "T|How freely to choose; 0: always the likeliest token.");
DEFINE_int32(top_k, 40, "K|Choose among the K likeliest tokens; 0: no limit.");
DEFINE_double(top_p, 0.95, "P|Choose among the likeliest of probability P in all; 1: no limit.");
DEFINE_double(min_p, 0.05, "P|Leave out what is less than P times the likeliest; 0: no limit.");
DEFINE_double(repetition_penalty, 1.0, "X|Divide logits of the last 64 tokens by X; 1: no penalty.");
DEFINE_string(stop, "", "TEXT|End the answer before this text, or one of '[\"###\", \"User:\"]'.");

DEFINE_string(prompt, "", "TEXT|The prompt.");
DEFINE_string(prompt_file, "", "FILE|A file with it; - is standard input. A last line break is dropped.");
DEFINE_string(system, "", "TEXT|The system message. Without it: the chat template's own.");
DEFINE_bool(raw, false, "|Continue the prompt as it is, without chat template, special tokens read.");
DEFINE_bool(chat, false, "|A dialogue: every line is a message. /reset forgets, /exit ends.");
DEFINE_string(chat_template, "", "NAME|chatml, llama3, gemma or none, instead of what the file names.");
DEFINE_int32(n_predict, 512, "TOKENS|Most tokens of an answer; 0: until the context is full.");

DEFINE_bool(json, false, "|Write the result as JSON, that of --version and --help, too.");
DEFINE_bool(jsonl, false, "|Answer requests from standard input, a JSON object a line, a line each.");

DEFINE_string(prompts, "", "FILE|Prompts, one a line, a text or an object as for --jsonl; without it: standard input.");
DEFINE_string(a, "speculate=none", "SETTINGS|One way to write: NAME=VALUE NAME=VALUE ...");
DEFINE_string(b, "speculate=auto", "SETTINGS|The other way.");

DEFINE_bool(special, false, "|Read special tokens in the text as such, not as plain characters.");
DEFINE_int32(top, 20, "N|Logits to write for each position, the largest first.");
DEFINE_int32(window, 512, "TOKENS|Tokens of a window, each computed from an empty cache.");
DEFINE_int32(max_windows, 4, "N|Windows to take from a text; 0: all.");
DEFINE_bool(graph, false, "|Show the static graphs: operators, buffers and their places, weights and units.");
DEFINE_int32(prompt_tokens, 512, "N|Length of the prompt to time; 0: do not.");
DEFINE_int32(generate_tokens, 128, "N|Tokens to generate and time; 0: do not.");
DEFINE_int32(depth, 0, "N|Tokens that are in the cache before.");
DEFINE_int32(repetitions, 5, "N|Runs to time, after one that is not timed.");
DEFINE_bool(overhead, false, "|Time what a token costs outside the graphs and waiting, and what a timeline costs.");
DEFINE_bool(thread_figures, false, "|Time what threads gain and cost on two CPUs, side by side, idle and too many.");
DEFINE_bool(roofline, false, "|Time the model beside what memory and arithmetic of this CPU could do at best.");
DEFINE_string(rows, "", "LIST|Time passes of so many rows: 1,2,4,8 or default, which goes to 64.");
DEFINE_string(attention, "", "LIST|Time attention to so many tokens before: 128,1024 or default, to 8192.");
DEFINE_bool(products, false, "|Time the products of each block format in cache, of one thread. Loads no model.");
DEFINE_bool(memory, false, "|Show the most memory that loading and running take, beside what they may.");
DEFINE_bool(streaming, false, "|Time passes of a packed model that is streamed, beside its flash and beside computing alone.");
DEFINE_bool(mapped, false, "|Stream by mapping the file and locking the pins in memory, to compare; nothing is verified.");
DEFINE_string(plot, "", "FILE|Draw the result there, as SVG: the curve of --rows, or gains.");
DEFINE_string(peer_curve, "", "FILE|Draw this curve, too: JSON with name, rows and seconds.");
DEFINE_string(data, "tests/data/speculation", "FOLDER|Evaluation sets; those of the source tree are a few prompts of each.");
DEFINE_string(categories, "all", "LIST|Sorts of prompts, with commas between, or all.");
DEFINE_int32(texts, 48, "N|Most prompts of each sort.");
DEFINE_int32(most_meeting_nanos, 0, "NS|Leave texts out of gains and tokens a pass while which threads took longer to meet; 0: none.");
DEFINE_int32(writings, 1, "N|Times that a text is written each way, in turns; of each the one of median time counts.");
DEFINE_bool(remember, false, "|Draft from the answers to the prompts before, too, of the same sort and run.");
DEFINE_string(shape, "1b", "NAME|1b, 4b or tiny: so many parameters.");
DEFINE_string(format, "", "NAME|Block format of the layers' matrices; without it: Q4_0, or that of the model.");
DEFINE_string(head_format, "", "NAME|Block format of embedding table and head; without it: that of the layers, or of the model.");
DEFINE_string(out, "", "FILE|Where to write.");

namespace tessera {

FlagGroup ModelFlags() { return {"Model", {"model", "threads", "context", "path", "kernels", "kv_format", "trace", "dry_run"}}; }

FlagGroup StreamingFlags() { return {"Memory and streaming", {"memory_budget", "pin", "io", "verify", "flash"}}; }

FlagGroup SpeculationFlags() { return {"Speculation", {"speculate", "history", "cost_profile"}}; }

FlagGroup SamplingFlags() {
  return {"Sampling", {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed"}};
}

}  // namespace tessera
