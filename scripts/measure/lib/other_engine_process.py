"""Runs one sample of OpenVINO GenAI or onnxruntime-genai in a process of its own; compare_engines.py starts it, by the interpreter of
the engines' own environment. It prints one line of JSON.

    python other_engine_process.py openvino speed FOLDER --threads 2 --prompt 512 --generate 128
    python other_engine_process.py onnxruntime perplexity FOLDER --threads 2 --windows windows.json

speed: tokens/s over a prompt, and over tokens generated after 16 others, greedily. An uncounted run of the same lengths comes before,
since these engines compile at first use. End tokens do not end it, so that as many tokens are counted as were asked for.
bytes: of the weights of onnxruntime's model, without the tables of sines and cosines that stand beside them in its file.
perplexity: {"nll_sum", "scored"} over windows of tokens, each from an empty cache; a window's first token is not scored.
"""
import argparse
import json
import math
import sys
import time

TOKENS_BEFORE = 16  # Before those that are generated.


def tokens_of(count, vocabulary, which=0):
    """Tokens of no meaning, the same in each process: engines without sparse parts take as long for any. Engines may keep the beginning of
    a text that they have read, so texts of another `which` differ from their first token on."""
    return [1 + ((i + 101 * which) * 7919) % (vocabulary - 1) for i in range(count)]


def negative_log_likelihood(numpy, logits, window):
    """The sum over all tokens but the first. logits: [tokens, vocabulary]."""
    logits = logits[:-1].astype(numpy.float64)
    top = logits.max(axis=1, keepdims=True)
    log_sums = numpy.log(numpy.exp(logits - top).sum(axis=1)) + top[:, 0]
    return float((log_sums - logits[numpy.arange(len(window) - 1), window[1:]]).sum())


class OpenVino:
    """A folder that optimum-intel has exported. Activations are quantized dynamically and the cache has 8 bits: its defaults. It reads
    prompts fastest as it is, and generates fastest without BF16 and paged attention, so a pipeline is opened for each."""
    TO_GENERATE = {"INFERENCE_PRECISION_HINT": "f32", "ATTENTION_BACKEND": "SDPA"}

    def __init__(self, folder, threads):
        self.folder, self.settings = folder, {"INFERENCE_NUM_THREADS": threads, "ENABLE_CPU_PINNING": False}
        self.opened = None

    def open(self):
        import openvino_genai
        self.genai = openvino_genai

    def generate(self, tokens, count, more=None):
        """(seconds to the first token, seconds per later token)"""
        import numpy
        import openvino
        if self.opened != (more or {}):
            self.pipeline = None  # Freed before the next is opened: the peak of memory is that of one.
            self.opened = more or {}
            self.pipeline = self.genai.LLMPipeline(self.folder, "CPU", **self.settings, **self.opened)
        ids = openvino.Tensor(numpy.array([tokens], dtype=numpy.int64))
        mask = openvino.Tensor(numpy.ones((1, len(tokens)), dtype=numpy.int64))
        config = self.genai.GenerationConfig()
        config.max_new_tokens, config.min_new_tokens, config.ignore_eos, config.do_sample = count, count, True, False
        metrics = self.pipeline.generate(self.genai.TokenizedInputs(ids, mask), config).perf_metrics
        if metrics.get_num_generated_tokens() != count:
            sys.exit(f"found {metrics.get_num_generated_tokens()} generated tokens, expected {count}")
        return metrics.get_ttft().mean / 1000, metrics.get_tpot().mean / 1000

    def prompt_seconds(self, tokens):
        return self.generate(tokens, 1)[0]

    def token_seconds(self, tokens, count):
        return self.generate(tokens, count + 1, self.TO_GENERATE)[1]

    def window_logits(self, window):
        import numpy
        import openvino
        if not hasattr(self, "request"):
            model = openvino.Core().compile_model(f"{self.folder}/openvino_model.xml", "CPU", self.settings)
            self.inputs = {name for port in model.inputs for name in port.names}
            self.request = model.create_infer_request()
        self.request.reset_state()
        count = len(window)
        every = {"input_ids": numpy.array([window], dtype=numpy.int64), "attention_mask": numpy.ones((1, count), dtype=numpy.int64),
                 "position_ids": numpy.arange(count, dtype=numpy.int64)[None], "beam_idx": numpy.zeros(1, dtype=numpy.int32)}
        result = self.request.infer({name: value for name, value in every.items() if name in self.inputs})
        return result[0][0]


class OnnxRuntime:
    """A folder that onnxruntime-genai's model builder has written; genai_config.json there says how many threads."""

    def __init__(self, folder, threads):
        self.folder, self.threads = folder, threads
        path = f"{folder}/genai_config.json"
        with open(path, encoding="utf-8") as config_file:
            config = json.load(config_file)
        config["model"]["decoder"]["session_options"]["intra_op_num_threads"] = threads
        with open(path, "w", encoding="utf-8") as config_file:
            json.dump(config, config_file, indent=1)

    def open(self):
        import onnxruntime_genai
        self.genai = onnxruntime_genai
        self.model = onnxruntime_genai.Model(self.folder)

    def generator(self, length):
        params = self.genai.GeneratorParams(self.model)
        params.set_search_options(max_length=max(512, length), min_length=length, do_sample=False)
        return self.genai.Generator(self.model, params)

    def prompt_seconds(self, tokens):
        generator = self.generator(len(tokens) + 1)
        begin = time.perf_counter()
        generator.append_tokens(tokens)
        generator.generate_next_token()
        return time.perf_counter() - begin

    def token_seconds(self, tokens, count):
        generator = self.generator(len(tokens) + count + 1)
        generator.append_tokens(tokens)
        generator.generate_next_token()
        begin = time.perf_counter()
        for _ in range(count):
            generator.generate_next_token()
        return (time.perf_counter() - begin) / count

    def window_logits(self, window):
        generator = self.generator(len(window) + 1)
        generator.append_tokens(window)
        logits = generator.get_output("logits")[0]
        if len(logits) != len(window):
            sys.exit(f"found logits of {len(logits)} tokens, expected {len(window)}")
        return logits


def measure_speed(engine, flags):
    engine.open()
    # The first of two is not counted.
    prompt_seconds = [engine.prompt_seconds(tokens_of(flags.prompt, flags.vocabulary, which)) for which in range(2)][1]
    token_seconds = [engine.token_seconds(tokens_of(TOKENS_BEFORE, flags.vocabulary, which), flags.generate) for which in range(2)][1]
    return {"prompt": flags.prompt / prompt_seconds, "generation": 1 / token_seconds}


def measure_perplexity(engine, flags):
    import numpy
    if isinstance(engine, OnnxRuntime):
        engine.open()
    with open(flags.windows, encoding="utf-8") as windows_file:
        windows = json.load(windows_file)
    total = sum(negative_log_likelihood(numpy, numpy.asarray(engine.window_logits(window)), window) for window in windows)
    if not math.isfinite(total):
        sys.exit(f"found a sum of {total}, expected a number")
    return {"nll_sum": total, "scored": sum(len(window) - 1 for window in windows)}


def weight_bytes(engine, flags):
    import onnx
    graph = onnx.load(f"{engine.folder}/model.onnx", load_external_data=False).graph
    lengths = {tensor.name: int(entry.value) for tensor in graph.initializer for entry in tensor.external_data if entry.key == "length"}
    return sum(length for name, length in lengths.items() if not name.startswith(("cos_cache", "sin_cache")))


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("engine", choices=["openvino", "onnxruntime"])
    flags.add_argument("figure", choices=["speed", "perplexity", "bytes"])
    flags.add_argument("folder")
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--prompt", type=int, default=512)
    flags.add_argument("--generate", type=int, default=128)
    flags.add_argument("--vocabulary", type=int, default=32000)
    flags.add_argument("--windows")
    flags = flags.parse_args()
    engine = {"openvino": OpenVino, "onnxruntime": OnnxRuntime}[flags.engine](flags.folder, flags.threads)
    measure = {"speed": measure_speed, "perplexity": measure_perplexity, "bytes": weight_bytes}[flags.figure]
    print(json.dumps(measure(engine, flags)))


if __name__ == "__main__":
    main()
