"""Tests of how the scripts in scripts/ treat their users: --help, wrong flags, and a signal in the middle.

    python3 tests/script_flags_test.py -v
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from patience import NEVER_ENDS, await_that

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


class ShellScripts(unittest.TestCase):
    def test_help_is_the_first_comment(self):
        scripts = [script for script in SCRIPTS.glob("**/*.sh") if script.read_text().startswith("#!")]
        self.assertGreater(len(scripts), 10)
        for script in scripts:
            for flags in (["--help"], ["-h"], ["--json", "--help"]):
                result = subprocess.run(["bash", str(script), *flags], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), script)
                lines = result.stdout.splitlines()
                self.assertEqual("# " + lines[0], script.read_text().splitlines()[1])
                self.assertTrue(any(line.startswith(f"  {script.relative_to(SCRIPTS.parent)}") for line in lines), result.stdout)
                self.assertNotIn("set -euo", result.stdout)

    def test_a_comparison_that_cannot_be_is_refused_before_anything_is_built(self):
        for flags, said in ((["--limits", "half"], "--limits: found half"), (["--threads", "0"], "--threads: found 0"),
                            (["--model", "llama9"], "found the model llama9, expected smollm2"), (["--model"], "--model needs a value")):
            with tempfile.TemporaryDirectory() as cache:
                result = subprocess.run(["bash", str(SCRIPTS / "measure/compare_peer_memory.sh"), *flags], capture_output=True, text=True,
                                        env={**os.environ, "TESSERA_CACHE": cache})
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)
                self.assertNotIn("Traceback", result.stderr)
                self.assertEqual(os.listdir(cache), [])

    def test_the_lever_is_refused_before_anything_is_made_and_help_says_what_is(self):
        script = SCRIPTS / "measure/compare_lever.sh"
        with tempfile.TemporaryDirectory() as cache:
            run = lambda *flags: subprocess.run(["bash", str(script), *flags], capture_output=True, text=True,
                                                env={**os.environ, "TESSERA_CACHE": cache})
            for flags, said in ((["--limits", "half"], "--limits: found half"), (["--drafts", "0"], "--drafts: found 0"),
                                (["--texts", "0"], "--texts: found 0"), (["--tokens"], "--tokens needs a value"),
                                (["--model", "m"], "unknown argument --model"),
                                (["--gguf", "m"], "found some of --gguf, --tsr and --draft"),
                                (["--gguf", __file__, "--tsr", "/none/a b", "--draft", __file__], "/none/a b: found no file")):
                result = run(*flags)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)
                self.assertNotIn("Traceback", result.stderr)
                self.assertEqual(os.listdir(cache), [])
            words = run("--help").stdout
            for made in ("lever-4b.gguf", "lever-4b.tsr", "lever-draft.gguf", "$TESSERA_CACHE or ~/.cache/tessera", "4.8 GB"):
                self.assertIn(made, words)
                self.assertTrue(made.startswith(("$", "4")) or f"$cache/{made}" in script.read_text())


class Scripts(unittest.TestCase):
    def test_a_script_may_be_run_if_its_first_line_names_an_interpreter(self):
        paths = [path for folder in ("scripts", "tests") for path in (SCRIPTS.parent / folder).rglob("*") if path.suffix in (".py", ".sh")]
        self.assertGreater(len(paths), 100)
        self.assertEqual([str(path) for path in paths if path.read_bytes().startswith(b"#!") != os.access(path, os.X_OK)], [])


class PythonScripts(unittest.TestCase):
    def run_script(self, name, *flags):
        return subprocess.run([sys.executable, str(SCRIPTS / name), *flags], capture_output=True, text=True)

    def test_help_is_the_first_comment(self):
        for script in SCRIPTS.glob("**/*.py"):
            if "flag_parser(__doc__)" not in script.read_text() or script.name == "script_main.py":
                continue
            result = self.run_script(script, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), script)
            self.assertIn(script.read_text().split('"""')[1].strip(), result.stdout)

    def test_what_a_start_cannot_be_compared_with_is_one_clear_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "m.gguf")
            model.write_text("no model")
            for flags, said in (([f"{folder}/none.gguf"], "none.gguf: found no file, expected a model"),
                                (["/none/of/it.gguf"], "it.gguf: found no file"),
                                ([str(model), "--bin", folder], f"{folder}/tessera_pack is missing, expected a program"),
                                ([str(model), "--repetitions", "0"], "--repetitions: found 0, expected a whole number"),
                                ([str(model), "--threads", "some"], "--threads: found some, expected a whole number"), ([], "required"),
                                ([str(model), "--before", folder], "--before and --memory_budget: found one of them, expected both")):
                result = self.run_script("measure/compare_start.py", *flags)
                self.assertIn(result.returncode, (1, 2))
                self.assertIn(said, result.stderr)
                self.assertNotIn("Traceback", result.stderr)
                self.assertEqual(os.listdir(folder), ["m.gguf"])

    def test_the_first_token_of_two_builds_is_held_against_the_formulas(self):
        generate = """#!/bin/sh
[ -d "$TESSERA_CACHE" ] || exit 9
case "$*" in
  *--memory_budget*) echo '{"timings": {"first_token_seconds": %s, "streaming": {"flash_bytes_per_second": 1e9,
                            "pinned_bytes": 2000000000, "streamed_bytes_per_pass": 1000000000}}}' ;;
  *) echo '{"timings": {"prompt_seconds": 2.5}}' ;;
esac
"""
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "m.gguf")
            model.write_text("a model")
            for build, seconds in (("before", 5), ("after", 4)):
                Path(folder, build).mkdir()
                for name, text in (("tessera_generate", generate % seconds), ("tessera_pack", "#!/bin/sh\ncp $1 $2\n")):
                    Path(folder, build, name).write_text(text)
                    Path(folder, build, name).chmod(0o755)
            result = self.run_script("measure/compare_start.py", str(model), "--bin", f"{folder}/after", "--before", f"{folder}/before",
                                     "--memory_budget", "1GiB", "--repetitions", "2", "--json")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            report = json.loads(result.stdout)
            self.assertEqual(report["formulas"], {"before": 4.5, "after": 3.0})
            self.assertEqual(report["seconds"], {"before": [5, 5], "after": [4, 4]})
            self.assertAlmostEqual(report["of_formulas"], 5 / 4 * 3 / 4.5)

    def test_builds_that_cannot_be_compared_are_one_clear_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "m.gguf")
            model.write_text("no model")
            for flags, said in (([folder, folder, f"{folder}/none"], "none: found no file, expected a model"),
                                ([folder, folder, str(model)], f"{folder}/tessera_bench is missing, expected a program"),
                                ([folder, folder, str(model), "--figures", "rows,cols"], "--figures: found cols, expected some of prompt,"),
                                ([folder, folder, str(model), "--pairs", "5"], "--pairs: found 5, expected 6 or more"),
                                ([folder, folder, str(model), "--pairs", "0"], "--pairs: found 0, expected a whole number")):
                result = self.run_script("measure/compare_builds.py", *flags)
                self.assertIn(result.returncode, (1, 2))
                self.assertIn(said, result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_an_interval_of_ratios_holds_the_median_with_95_percent(self):
        sys.path.insert(0, str(SCRIPTS / "measure"))
        from compare_builds import interval  # pylint: disable=import-outside-toplevel
        self.assertEqual(interval(range(15)), (3, 11))   # 96.5 %; 4 to 10 would be 88 %.
        self.assertEqual(interval([4, 2, 9, 5, 6, 7]), (2, 9))   # Too few to leave one out.

    def test_builds_are_compared_in_every_figure(self):
        bench = """#!/bin/sh
case "$1" in
  speed) echo '{"prompt": {"tokens_per_second": {"median": 10}}, "generation": {"tokens_per_second": {"median": %d}}}' ;;
  rows) [ "$9 ${10}" = "--rows 1,8" ] || exit 9; echo '{"rows": [{"rows": 1, "seconds": 1}, {"rows": 8, "seconds": 2}]}' ;;
  streams) echo '{"batch": {"together": [{"tokens_per_second": {"median": %d}}]}}' ;;
  memory) echo '{"memory_bytes": {"peak_loading": 1000000, "peak_running": 400000000}}' ;;
esac
"""
        generate = """#!/bin/sh
case "$*" in *--json*) echo '{"text": "word", "timings": {"generation_seconds": %f}}' ;; *) echo word ;; esac
"""
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "m.gguf")
            model.write_text("a model")
            for build, speed in (("before", 20), ("after", 25)):
                Path(folder, build).mkdir()
                for name, text in (("tessera_bench", bench % (speed, speed)), ("tessera_pack", "#!/bin/sh\n"),
                                   ("tessera_perplexity", "#!/bin/sh\necho '{\"nll_sum\": 1.5}'\n"),
                                   ("tessera_generate", generate % (1 / speed))):
                    Path(folder, build, name).write_text(text)
                    Path(folder, build, name).chmod(0o755)
            result = self.run_script("measure/compare_builds.py", f"{folder}/before", f"{folder}/after", str(model), "--pairs", "6",
                                     "--json")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            report = json.loads(result.stdout)
            self.assertEqual(report["budget"], "286MiB", "3/4 of 400 MB")
            ratios = {line["figure"]: line["ratio"] for line in report["figures"]}
            self.assertEqual(list(ratios), ["prompt", "generation", "rows", "texts", "auto", "dialogue", "perplexity", "first_byte",
                                            "streamed", "memory"])
            for figure, ratio in (("prompt", 1), ("generation", 0.8), ("rows", 1), ("texts", 0.8), ("auto", 0.8), ("streamed", 0.8),
                                  ("memory", 1)):
                self.assertAlmostEqual(ratios[figure], ratio)

    def test_a_signal_leaves_no_temporary_folder_and_no_program(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "m.gguf").write_text("a model")
                for name in ("tessera_pack", "tessera_generate"):
                    Path(folder, name).write_text(f"#!/bin/sh\necho $$ >{folder}/started\nexec {NEVER_ENDS}\n")
                    Path(folder, name).chmod(0o755)
                # Where nohup or a shell's & began the tests, these signals are ignored.
                with subprocess.Popen([sys.executable, str(SCRIPTS / "measure/compare_start.py"), f"{folder}/m.gguf", "--bin", folder],
                                      preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
                                      stderr=subprocess.PIPE, text=True) as process:
                    started = Path(folder, "started")
                    await_that(lambda: started.exists() and started.read_text().endswith("\n"))
                    self.assertEqual(len(os.listdir(folder)), 5, "model, two programs, started, and the temporary folder")
                    process.send_signal(number)
                    said = process.communicate(timeout=60)[1]
                self.assertEqual((process.returncode, said), (-number, "failed: ended by a signal\n"))
                self.assertEqual(len(os.listdir(folder)), 4)
                with self.assertRaises(ProcessLookupError):
                    os.kill(int(started.read_text()), 0)


class Trainings(unittest.TestCase):
    """Those of scripts/train, whose JAX is not needed here."""
    def run_script(self, name, *flags, **environment):
        return subprocess.run([sys.executable, "-B", str(SCRIPTS / "train" / name), *flags], capture_output=True, text=True,
                              env={**os.environ, **environment})

    def test_help_is_the_first_comment(self):
        scripts = sorted((SCRIPTS / "train").glob("*.py"))
        self.assertGreater(len(scripts), 4)
        for script in scripts:
            result = self.run_script(script.name, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), script)
            self.assertIn(script.read_text().split('"""')[1].strip().replace("\\\\\n", "\\\n"), result.stdout)

    def test_wrong_flags_and_a_python_without_jax_are_one_clear_sentence(self):
        needed = ["--model", "m", "--states", "s", "--out", "o"]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "jax.py").write_text("raise ImportError\n")
            data = Path(folder, "data")
            data.write_text('{"messages": [{"role": "user", "content": "a"}]}\n')
            for name, flags, said in (
                    ("exit_predictor.py", [*needed, "--layer", "1"], "found a Python without JAX"),
                    ("ds2d.py", needed, "found a Python without JAX"), ("ds2d.py", [*needed, "--length", "4"], "--length: found 4"),
                    ("eagle_head.py", [*needed, "--layers", "1,2"], "--layers: found 1,2, expected three numbers"),
                    ("eagle_head.py", [*needed, "--steps", "0"], "--steps: found 0, expected a whole number"),
                    ("reward.py", [*needed, "--labels", f"{folder}/none"], "none: found no file, expected labels"),
                    ("reward.py", [*needed, "--labels", str(data)], "line 1: found"),
                    ("reward.py", [*needed, "--labels", "l", "--hidden", "-1"], "--hidden: found -1, expected 0 to 8192"),
                    ("adapter.py", ["--model", "m", "--out", "o", "--data", f"{folder}/none"], "none: found no file"),
                    ("adapter.py", ["--model", "m", "--out", "o", "--data", str(data)], "line 1: found"),
                    ("adapter.py", ["--model", "m", "--out", "o", "--data", "d", "--targets", "q,x"], "--targets: found 'x'")):
                with self.subTest(name=name, flags=flags):
                    result = self.run_script(name, *flags, PYTHONPATH=folder)
                    self.assertIn(result.returncode, (1, 2))
                    self.assertIn(said, result.stderr)
                    self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    unittest.main()
