"""Tests that no script and no test can start a program which a bare Debian with the named packages lacks.

    python3 tests/programs_test.py -v
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/checks"))
from shell_commands import shell_commands  # noqa: E402


class ShellCommandsTest(unittest.TestCase):
    def found(self, text):
        return [word for _, word in shell_commands(text)]

    def test_words_that_begin_a_command_are_found(self):
        for text, expected in (("one a; two | three && four || five & six", ["one", "two", "three", "four", "five", "six"]),
                               ("A=1 B=\"c d\" one >out 2>&1 two\n", ["one"]), ("if ! one; then two; fi", ["one", "two", "fi"]),
                               ('x="$(one "$(two a)" b)" && y=$(three)', ["one", "two", "three"]),
                               ("(one a) || { two; }", ["one", "two"]), ("one \\\n  a b\ntwo", ["one", "two"]),
                               ("[[ $(one a) == b || -e c ]] && two", ["one", "two"]), ("diff <(one a) >(two b)", ["diff", "one", "two"]),
                               ("((a > b)) && one $((c | d))", ["one"]), ("f() {\n  one\n}", ["one"])):
            self.assertEqual(self.found(text), expected, text)

    def test_what_is_no_command_is_left_out(self):
        for text in ("# one; two", '"$dir/one" two; "one two"', "'one'", "a=(one two)", "local_x=one", "${one:-two} three"):
            self.assertEqual(self.found(text), [], text)
        self.assertEqual(self.found("cat <<END\none; two\nEND\nthree"), ["cat", "three"])
        self.assertEqual(self.found("case $x in\n  one | two) three ;;\nesac"), ["case", "three", "esac"])

    def test_what_a_command_runs_is_found(self):
        for text, expected in (('run_logged "a b" "$log" one two', ["run_logged", "one"]), ("env -i A=1 one two", ["env", "one"]),
                               ("command -v one", ["command", "one"]), ("exec one", ["exec", "one"]), ("xargs -0 one", ["xargs", "one"]),
                               ('tool=(one -a)\n"${tool[@]}" b', ["one"]), ("bash -c 'one && two'", ["bash", "one", "two"])):
            self.assertEqual(self.found(text), expected, text)

    def test_lines_are_those_of_the_file(self):
        self.assertEqual(shell_commands("a \\\n b\n'\n'\n# c\nd"), [(1, "a"), (6, "d")])


class CopiedTree(unittest.TestCase):
    """A copy of what is read, in which something can be changed."""
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for part in ("scripts", "cmake", ".ci"):
            shutil.copytree(ROOT / part, self.root / part)
        for path in (ROOT / "CMakeLists.txt", *ROOT.glob("tests/*.py")):
            (self.root / path.relative_to(ROOT).parent).mkdir(exist_ok=True)
            shutil.copy(path, self.root / path.relative_to(ROOT))

    def take_out(self, package):
        script = self.root / "scripts/install_packages.sh"
        text = script.read_text()
        changed = text.replace(f" {package} ", " ", 1).replace(f"({package})", "()", 1)
        self.assertNotEqual(changed, text)
        script.write_text(changed)


class CheckProgramsTest(CopiedTree):
    def check(self):
        result = subprocess.run([sys.executable, self.root / "scripts/checks/check_programs.py"], capture_output=True, text=True)
        return result.returncode, result.stderr

    def test_a_package_that_is_not_named_fails_the_check(self):
        self.assertEqual(self.check(), (0, "programs come with packages that are named: yes\n"))
        self.take_out("git")
        code, errors = self.check()
        self.assertEqual(code, 1)
        starts = r"starts git, which comes with no package that scripts/install_packages\.sh names\n"
        self.assertRegex(errors, r"tests/commands_test\.py:\d+: " + starts)
        self.assertRegex(errors, rf"^(\S+:\d+: {starts})+programs come with packages that are named: \d+ problems\n$")
        for package in ("cmake", "ninja-build", "protobuf-compiler", "mmdebstrap"):
            self.take_out(package)
        errors = self.check()[1]
        for program in ("cmake,", "ninja,", "protoc,", "mmdebstrap of mmdebstrap, which scripts/install_packages.sh --fresh does not name"):
            self.assertIn(f": starts {program}", errors)

    def test_a_program_of_no_named_package_fails_the_check(self):
        expected = []
        for path, line in (("scripts/build.sh", "true && nosuch-program -x"),
                           ("scripts/lib/count_tests.py", 'run(["nosuch-program", "a"])'),
                           ("cmake/TesseraVersion.cmake", "find_program(FOUND nosuch-program REQUIRED)")):
            before = (self.root / path).read_text()
            (self.root / path).write_text(f"{before}{line}\n")
            expected.append(f"{path}:{before.count(chr(10)) + 1}: starts nosuch-program, which comes with no package")
        code, errors = self.check()
        self.assertEqual(code, 1)
        for problem in expected:
            self.assertIn(problem, errors)


class NamedProgramsTest(CopiedTree):
    """scripts/tests/with_named_programs.sh, in which scripts/test.sh runs all that it runs."""
    def run_with_named(self, *command, **environment):
        result = subprocess.run([self.root / "scripts/tests/with_named_programs.sh", "--tests", "--", *command], capture_output=True,
                                text=True, env={**os.environ, **environment})
        if result.returncode == 125:
            self.skipTest("nothing can be hidden here")
        return result

    def test_a_package_that_is_not_named_is_missed(self):
        version_tests = ["python3", self.root / "tests/commands_test.py", "VersionTest"]
        result = self.run_with_named(*version_tests)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.take_out("git")
        result = self.run_with_named(*version_tests)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No such file or directory: 'git'", result.stderr)

    def test_a_path_does_not_lead_to_what_is_hidden(self):
        self.take_out("git")
        result = self.run_with_named("bash", "-c", "ls /usr/bin/git /bin/git; ls /usr/local/bin /usr/local/sbin; exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertEqual(result.stdout.replace("/usr/local/bin:\n", "").replace("/usr/local/sbin:\n", "").strip(), "")

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.run_with_named("touch", "/usr/bin/x", TMPDIR=folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("Read-only file system", result.stderr)
            self.assertEqual(list(Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
