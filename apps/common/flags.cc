#include "tessera/apps/common/flags.h"

#include <gflags/gflags.h>

DEFINE_string(model, "", "FILE|The model, a GGUF file. Without it: SmolLM2-135M-Instruct.Q4_1.gguf in $TESSERA_CACHE (~/.cache/tessera), "
              "where scripts/fetch_model.sh puts it.");
DEFINE_int32(threads, 0, "N|Threads that compute; 0: one per core. The text does not depend on it.");
DEFINE_int32(context, 0, "TOKENS|Most tokens of a text, prompt and answer together; 0: what the model was trained for, at most 8192.");
DEFINE_string(path, "fast", "fast|reference|How to compute: fast, with packed weights; reference, in plain FP32, slow, as a yardstick.");
DEFINE_string(kernels, "auto", "NAME|Kernels of the fast path: auto, portable, avx2 or avx512. All give the same bits.");
DEFINE_string(trace, "", "FILE|Write a timeline of the run there, for a trace viewer such as Perfetto.");

DEFINE_uint64(seed, 0, "N|Start of the random numbers: the same seed gives the same text.");
DEFINE_double(temperature, 0.8, "T|How freely to choose; 0: always the most likely token.");
DEFINE_int32(top_k, 40, "K|Choose among the K most likely tokens; 0: no limit.");
DEFINE_double(top_p, 0.95, "P|Choose among the most likely tokens that together have probability P; 1: no limit.");
DEFINE_double(min_p, 0.05, "P|Leave out tokens less than P times as likely as the most likely one; 0: no limit.");
DEFINE_double(repetition_penalty, 1.0, "X|Divide the logits of the last 64 tokens' repetitions by X; 1: no penalty.");
DEFINE_string(stop, "", "TEXT|End the answer before this text. Several: a JSON array such as '[\"###\", \"User:\"]'.");

DEFINE_string(prompt, "", "TEXT|The prompt.");
DEFINE_string(prompt_file, "", "FILE|Read the prompt from a file; - is standard input, which is also read if it is a pipe and no prompt is "
              "given. A line break at the end is dropped.");
DEFINE_string(system, "", "TEXT|The system message, before the dialogue. Without it: the chat template's own.");
DEFINE_bool(raw, false, "|Continue the prompt as it is, without chat template; special tokens may be written out in it.");
DEFINE_bool(chat, false, "|A dialogue: every line is a message, and the model sees all before it. /reset forgets, /exit ends.");
DEFINE_string(chat_template, "", "NAME|chatml, llama3, gemma or none, instead of what the model file names.");
DEFINE_int32(n_predict, 512, "TOKENS|Most tokens of an answer; 0: until the context is full.");

DEFINE_bool(json, false, "|Write the result as JSON.");
DEFINE_bool(jsonl, false, "|Read requests from standard input, one JSON object a line, and answer each with a line.");
DEFINE_bool(dry_run, false, "|Say what would be loaded and how much memory it takes, and end.");

DEFINE_bool(special, false, "|Special tokens that are written out in the text count as such, not as plain characters.");
DEFINE_int32(top, 20, "N|Logits to write for each position, the largest first.");
DEFINE_int32(window, 512, "TOKENS|Tokens of a window, each computed from an empty cache.");
DEFINE_int32(max_windows, 4, "N|Windows to take from a text; 0: all.");
DEFINE_bool(graph, false, "|Show the static graphs instead: operators, buffers with their places in memory, weights with their units.");
DEFINE_int32(prompt_tokens, 512, "N|Length of the prompt to time; 0: do not.");
DEFINE_int32(generate_tokens, 128, "N|Tokens to generate and time; 0: do not.");
DEFINE_int32(depth, 0, "N|Tokens that are in the cache before.");
DEFINE_int32(repetitions, 5, "N|Runs to time, after one that is not timed.");
DEFINE_bool(overhead, false, "|Measure instead what a generated token costs outside the device's graphs, and what a timeline costs.");

namespace tessera {

FlagGroup ModelFlags() { return {"Model", {"model", "threads", "context", "path", "kernels", "trace"}}; }

FlagGroup SamplingFlags() {
  return {"Sampling", {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed"}};
}

}  // namespace tessera
