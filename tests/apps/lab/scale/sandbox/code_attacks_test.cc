// Programs that want to pass without being right. None may: the verdict is made where they are not.
#include <sys/prctl.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/sandbox/code_checker.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

class CodeAttacks : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters";
  }

  // The tests expect 918273645 of f(4), which no program here computes.
  static CodeResult Attack(const std::string& program, const std::string& tests = "assert f(4) == 918273645\n") {
    static const auto* const checker = new std::unique_ptr<CodeChecker>(Must(CodeChecker::Create({.cpu_seconds = 2, .seconds = 6})));
    return Must((*checker)->Check({.program = program, .tests = tests, .tested = {"f"}}));
  }
  static void ExpectFails(const std::string& program, const std::string& message, const std::string& tests = "assert f(4) == 918273645\n") {
    const CodeResult result = Attack(program, tests);
    EXPECT_EQ(result.outcome, CodeOutcome::kFailed) << program;
    EXPECT_TRUE(absl::StrContains(result.message, message)) << program << ": " << result.message;
  }
  // A program that writes these bytes where its values go, before f is asked for anything.
  static std::string Writes(const std::string& bytes) {
    return absl::StrCat("import os\nos.write(4, ", bytes, ")\ndef f(x):\n  return 0\n");
  }
};

TEST_F(CodeAttacks, ARightProgramPassesTheSameTests) {
  EXPECT_EQ(Attack("def f(x):\n  return 918273641 + x\n").outcome, CodeOutcome::kPassed);
}

TEST_F(CodeAttacks, NothingInTheProcessKnowsTheExpectedValue) {
  ExpectFails(R"(
import gc, os, sys
def f(x):
    seen, frame = [sys.argv, sys.orig_argv, dict(os.environ), sys.flags], sys._getframe()
    while frame:
        seen += [frame.f_locals, frame.f_globals, frame.f_code.co_consts]
        frame = frame.f_back
    seen += gc.get_objects()
    for fd in range(64):
        try:
            seen.append(os.pread(fd, 1 << 20, 0))
        except OSError:
            pass
    for path in ("/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps", "/proc/self/mem"):
        try:
            seen.append(open(path, "rb").read(1 << 20))
        except (OSError, ValueError):
            pass
    wanted = str(int("918273644") + 1)
    for one in seen:
        try:
            if wanted in str(one): return int(wanted)
        except Exception:
            pass
    return "not found"
)", "AssertionError");
}

TEST_F(CodeAttacks, LeavingIsNotPassing) {
  for (const std::string leave : {"exit(0)", "import sys; sys.exit(0)", "import os; os._exit(0)", "raise SystemExit(0)",
                                  "raise KeyboardInterrupt"}) {
    for (const std::string& program : {leave + "\n", absl::StrCat("def f(x):\n  ", leave, "\n")}) {
      EXPECT_EQ(Attack(program).outcome, CodeOutcome::kFailed) << program;
    }
  }
  ExpectFails("import atexit, os\n"
              "atexit.register(lambda: [os.write(fd, b'passed') for fd in (1, 3, 4, 5)])\ndef f(x):\n  raise SystemExit\n",
              "SystemExit");
}

TEST_F(CodeAttacks, TestsThatCatchAllDoNotSaveAProgramThatLeft) {
  ExpectFails("import os\ndef f(x):\n  os._exit(0)\n", "it ended before its tests did, with exit code 0",
              "try:\n  f(1)\nexcept:\n  pass\n");
  ExpectFails("import os\ndef f(x):\n  os.write(4, b'zzzzzzzz')\n", "found bytes that are no value", "try:\n  f(1)\nexcept:\n  pass\n");
}

TEST_F(CodeAttacks, NoFileTakesAVerdict) {
  ExpectFails("print('passed')\ndef f(x):\n  print('passed')\n  return 'passed'\n", "AssertionError");
  const CodeResult all = Attack("import os\ndef f(x):\n  for fd in range(64):\n    for text in (b'passed', b'\"passed\"'):\n      try:\n"
                                "        os.write(fd, text)\n      except OSError:\n        pass\n  return 0\n");
  EXPECT_EQ(all.outcome, CodeOutcome::kFailed) << all.message;
  ExpectFails("import os\nfor fd in range(5, 64):\n  try:\n    os.fstat(fd)\n  except OSError:\n    continue\n  raise ValueError(fd)\n"
              "def f(x):\n  return 0\n", "AssertionError");
}

TEST_F(CodeAttacks, EqualToAllIsEqualToNothing) {
  const std::string liar = "  __eq__ = lambda self, other: True\n  __ne__ = lambda self, other: False\n  __hash__ = lambda self: 0\n"
                           "  __bool__ = lambda self: True\n";
  std::string program = "made = []\n";
  for (const std::string base : {"object", "int", "float", "str", "bytes", "list", "tuple", "dict", "set", "frozenset", "Exception"}) {
    absl::StrAppend(&program, "class Liar(", base, "):\n", liar, "made += [Liar(), [Liar()], {1: Liar()}]\n");
  }
  const std::string tests = "wrong = [i for i in range(33) for right in (9, [9], {1: 9}, 'a') if f(i) == right or not f(i) != right]\n"
                            "assert wrong == [], wrong\n";
  EXPECT_EQ(Attack(program + "def f(i):\n  return made[i]\n", tests).message, "") << "each is unequal to all of these";
  ExpectFails(absl::StrCat("class Meta(type):\n  __mro__ = (int,)\nclass Liar(metaclass=Meta):\n  __class__ = int\n", liar,
                           "def f(x):\n  return Liar()\n"), "Error");
}

TEST_F(CodeAttacks, PatchesOfTheProgramStayInTheProgram) {
  ExpectFails("import builtins, sys, json, os\nfor name in ('len', 'abs', 'all', 'any', 'isinstance', 'sorted', 'set'):\n"
              "  setattr(builtins, name, lambda *a, **k: 3)\nbuiltins.AssertionError = Exception\n"
              "sys.excepthook = lambda *a: None\ndef len(x):\n  return 3\ndef f(x):\n  return []\n", "", "assert len(f(4)) == 3\n");
  ExpectFails("import json\njson.dumps = lambda message: '[\"value\", [\"i\", \"%x\"]]' % 918273645\ndef f(x):\n  return 0\n",
              "AssertionError");
  EXPECT_EQ(Attack("import sys\nsys.settrace(lambda *a: None)\nsys.modules['json'] = None\ndef f(x):\n  return 918273645\n").message, "");
}

TEST_F(CodeAttacks, ProgramsThatUseTheirModuleOrErrorsOfTheirOwnAreRight) {
  EXPECT_EQ(Attack("from __future__ import annotations\nfrom dataclasses import dataclass\nimport pickle\n@dataclass\nclass Node:\n"
                   "  val: int\n  next: 'Node' = None\ndef f(x):\n  return pickle.loads(pickle.dumps(Node(x))).val\n",
                   "assert f(4) == 4\n").message, "");
  const std::string tests = "for i in range(3):\n  try:\n    f(i)\n    assert False\n  except ValueError as error:\n    pass\n";
  EXPECT_EQ(Attack("import json\nclass V(ValueError):\n  pass\ndef f(x):\n  if x == 0: raise V('neg')\n  if x == 1: json.loads('{')\n"
                   "  b'\\xff'.decode()\n", tests).message, "");
  ExpectFails("class V(ValueError, StopIteration):\n  pass\ndef f(x):\n  raise V(1)\n", "V: 1", tests);
  ExpectFails("class Own(Exception):\n  pass\ndef f(x):\n  raise Own('why')\n", "Own: why", tests);
}

TEST_F(CodeAttacks, AMessageHasAtMostTwoHundredBytes) {
  for (const char* const text : {"'\\x1b' * 400", "'\\u20ac' * 400"}) {
    const std::string message = Attack(absl::StrCat("def f(x):\n  raise ValueError(", text, ")\n")).message;
    EXPECT_GT(message.size(), 150u);
    EXPECT_LE(message.size(), 200u) << message;
    EXPECT_FALSE(absl::StrContains(message, "\\xe2")) << message;
  }
}

TEST_F(CodeAttacks, AnErrorCannotEndALoopOfTheTests) {
  for (const std::string error : {"StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit"}) {
    ExpectFails(absl::StrCat("def f(x):\n  raise ", error, "\n"), error, "assert all(map(lambda x: f(x) == 918273645, [1, 2, 3]))\n");
  }
}

TEST_F(CodeAttacks, BytesThatAreNoValueFail) {
  const std::string none = "found bytes that are no value";
  for (const std::string bytes : {"b'passed  '", "b'-0000001' + b'x'", "b'00000004' + b'true'", "b'00000002' + b'{}'",
                                  "b'00000001' + bytes([255])",
                                  "b'00000010' + b'[\"value\", [\"q\"]] '", "b'00000013' + b'[\"value\", [\"i\",\"\"]]'",
                                  "b'00000016' + b'[\"value\", [\"d\", null]]'", "b'0000001e' + b'[\"value\", [\"s\", [\"l\"], [\"l\"]]]'",
                                  "b'00000015' + b'[\"raised\", \"E\", null]'", "b'000186a0' + b'[' * 100000"}) {
    const CodeResult result = Attack(Writes(bytes));
    EXPECT_EQ(result.outcome, CodeOutcome::kFailed) << bytes;
    EXPECT_TRUE(absl::StrContains(result.message, "found")) << bytes << ": " << result.message;
  }
  ExpectFails(Writes("b'ffffffff'"), "found a value of more than 4194304 bytes");
  ExpectFails(Writes("b'0000000c' + b'[\"value\", 1]'"), "found a number outside of a value");
  ExpectFails(Writes("b'00000013' + b'[\"value\", 1e999999]'"), "found a number outside of a value");
  for (const char* const close : {"os.close(4)", "os.closerange(0, 64)"}) {
    EXPECT_NE(Attack(absl::StrCat("import os\n", close, "\ndef f(x):\n  return 918273645\n")).outcome, CodeOutcome::kPassed) << close;
  }
}

TEST_F(CodeAttacks, ValuesThatAreTooMuchFail) {
  ExpectFails("def f(x):\n  return 'x' * (5 << 20)\n", "found a value of more than 4194304 bytes");
  ExpectFails("def f(x):\n  value = []\n  for i in range(100000):\n    value = [value]\n  return value\n",
              "found a value nested more than 100 deep");
  ExpectFails("def f(x):\n  value = []\n  value.append(value)\n  return value\n", "found a value nested more than 100 deep");
  const CodeResult gigabyte = Attack("def f(x):\n  return ['x' * (1 << 20)] * 1024\n", "assert f(4)\n");   // One GiB as JSON.
  EXPECT_NE(gigabyte.outcome, CodeOutcome::kPassed) << gigabyte.message;
  const CodeResult wide = Attack("def f(x):\n  value = 'x'\n  for i in range(60):\n    value = [value, value]\n  return value\n",
                                "assert f(4)\n");
  EXPECT_NE(wide.outcome, CodeOutcome::kPassed) << wide.message;
  EXPECT_EQ(Attack("def f(x):\n  return 1 << 16000000\n", "assert f(4) == 1 << 16000000\n").message, "") << "four million digits";
  ExpectFails("def f(x):\n  return 1 << 20000000\n", "found a value of more than", "assert f(4) == 1 << 20000000\n");
}

TEST_F(CodeAttacks, ANumberThatIsNoneIsNotEqual) {
  EXPECT_EQ(Attack("def f(x):\n  return float('nan')\n", "value = f(4)\nassert value != value\n").message, "");
  ExpectFails("nan = float('nan')\ndef f(x):\n  return [nan]\n", "AssertionError", "assert f(4) == f(4)\n");
}

TEST_F(CodeAttacks, AHangingProgramRunsOutOfTime) {
  EXPECT_EQ(Attack("def f(x):\n  while True:\n    pass\n").outcome, CodeOutcome::kTimedOut);
  EXPECT_EQ(Attack("while True:\n  pass\n").outcome, CodeOutcome::kTimedOut);
  EXPECT_EQ(Attack("import os\ndef f(x):\n  os.read(3, 1)\n").outcome, CodeOutcome::kTimedOut);
}

TEST_F(CodeAttacks, AFloodAndAForkBombEnd) {
  EXPECT_EQ(Attack("def f(x):\n  while True:\n    print('x' * 1024)\n").outcome, CodeOutcome::kWroteTooMuch);
  ExpectFails("import os\ndef f(x):\n  while True:\n    os.fork()\n", "PermissionError");
  EXPECT_NE(Attack("import os\ndef f(x):\n  while True:\n    os.write(4, b'00000004null' * 1000)\n").outcome, CodeOutcome::kPassed);
}

}  // namespace
}  // namespace tessera
