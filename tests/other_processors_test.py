"""Tests of the scripts that build for, and look at code of, processors other than this one.

    python3 tests/other_processors_test.py -v
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


class CountInstructionsTest(unittest.TestCase):
    def test_counts_the_shortest_loop_around_the_dot_products(self):
        name = "void tessera::PanelRows<tessera::LanesNeon, tessera::panels::Q4_0, tessera::ActivationGroupOf<8>, 2>(std::byte const*)"
        lines = ["ldr\tq1, [x0]", "ldr\tq0, [sp, #16]", "sdot\tv0.4s, v1.16b, v2.16b", "sdot\tv3.4s, v1.16b, v2.16b",
                 f"b.ne\t4 <{name}+0x4>", f"cbnz\tx2, 0 <{name}>", "ret"]
        listing = f"0000000000000000 <{name}>:\n" + "".join(f"  {4 * i:x}:\t{line}\n" for i, line in enumerate(lines))
        with tempfile.TemporaryDirectory() as folder:
            objdump = Path(folder, "objdump")
            objdump.write_text(f"#!/bin/sh\ncat <<'END'\n{listing}END\n")
            objdump.chmod(0o755)
            result = subprocess.run([sys.executable, SCRIPTS / "measure/count_instructions.py", "kernel.o", "--objdump", objdump],
                                    capture_output=True, text=True)
        self.assertEqual(result.stdout, "Q4_0      8 bits, rows 2:     4 instructions, 2.00 a dot product, 1 on the stack\n")


class Arm64SysrootTest(unittest.TestCase):
    def test_libraries_are_those_of_the_build_and_unpacked_once(self):
        libraries = subprocess.run([SCRIPTS / "install_packages.sh", "--libraries"], capture_output=True, text=True).stdout.split()
        self.assertIn("libgtest-dev", libraries)
        with tempfile.TemporaryDirectory() as folder:
            sysroot = Path(folder, "arm64", "sysroot")
            sysroot.mkdir(parents=True)
            (sysroot / "packages").write_text(" ".join([*libraries, "libc6-dev", "libstdc++6"]) + "\n")
            result = subprocess.run([SCRIPTS / "tests/arm64_sysroot.sh"], capture_output=True, text=True,
                                env={**os.environ, "TESSERA_CACHE": folder})
            self.assertEqual((result.stdout, result.stderr), (f"{sysroot}\n", ""))


if __name__ == "__main__":
    unittest.main()
