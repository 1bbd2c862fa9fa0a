"""Makes a GGUF model into the folders that OpenVINO GenAI and onnxruntime-genai read, each in its best 4-bit form; runs by the
interpreter of the engines' own environment.

    python other_engine_model.py MODEL.gguf FOLDER [--engines openvino,onnxruntime] [--block 128]

FOLDER/huggingface: the weights as FP32, by transformers, which reads GGUF. FOLDER/openvino: int4, symmetric, groups of 32, head too, by
optimum-intel. FOLDER/onnxruntime: int4 in blocks of BLOCK with products in 8 bits (accuracy level 4), one table for embedding and head
where blocks fill its rows, logits of the last token of a prompt alone, by its model builder. FOLDER/onnxruntime_all_logits: the same
with all logits, to score texts with.
A folder appears under its name only when it is whole, and is made again when the model is newer.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path


def make(folder, made_from, write):
    """write(path) fills a new folder, which then gets its name."""
    if folder.exists() and folder.stat().st_mtime >= made_from.stat().st_mtime:
        return
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    write(unfinished)
    os.utime(unfinished)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(unfinished, folder)


def huggingface(model, folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    where = {"pretrained_model_name_or_path": str(model.parent), "gguf_file": model.name}
    weights = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    weights.save_pretrained(folder)
    try:
        AutoTokenizer.from_pretrained(**where).save_pretrained(folder)
    except Exception as error:  # A random model's vocabulary is no real one. Measuring needs no texts: tokens are given.
        print(f"{model.name}: no tokenizer ({type(error).__name__}: {error})", file=sys.stderr)


def openvino(source, folder):
    subprocess.run([Path(sys.executable).with_name("optimum-cli"), "export", "openvino", "--model", source, "--task",
                    "text-generation-with-past", "--weight-format", "int4", "--sym", "--group-size", "32", "--ratio", "1.0",
                    "--all-layers", folder], check=True)


def onnxruntime(source, folder, block, last_logits_alone):
    """The folder `builder` holds the version of the builder that works beside optimum-intel (other_engines.sh). A table that embedding and
    head share fails at run time where a row is no whole number of blocks; smaller blocks are slower than a table of its own."""
    with open(source / "config.json", encoding="utf-8") as config:
        shared = json.load(config)["hidden_size"] % block == 0
    path = {**os.environ, "PYTHONPATH": str(Path(sys.prefix) / "builder")}
    subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", source, "-o", folder, "-p", "int4", "-e", "cpu",
                    "--extra_options", "int4_accuracy_level=4", f"int4_block_size={block}", "int4_algo_config=rtn",
                    f"shared_embeddings={str(shared).lower()}", f"prune_lm_head={str(last_logits_alone).lower()}"], env=path, check=True)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("model", type=Path)
    flags.add_argument("folder", type=Path)
    flags.add_argument("--engines", default="openvino,onnxruntime")
    flags.add_argument("--block", type=int, default=128)
    flags = flags.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"  # All that is needed is here; what is not must not come from elsewhere in silence.
    source = flags.folder / "huggingface"
    make(source, flags.model, lambda path: huggingface(flags.model.resolve(), path))
    writers = {"openvino": {"openvino": openvino},
               "onnxruntime": {"onnxruntime": lambda source, path: onnxruntime(source, path, flags.block, True),
                               "onnxruntime_all_logits": lambda source, path: onnxruntime(source, path, flags.block, False)}}
    for engine in flags.engines.split(","):
        for name, write in writers[engine].items():
            make(flags.folder / name, source, lambda path, write=write: write(source, path))


if __name__ == "__main__":
    main()
