// Programs that models wrote: what they can do in their sandbox, and what their tests see of them. code_attacks_test.cc has those that want
// to pass.
#include "tessera/apps/lab/scale/sandbox/code_checker.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class CodeCheckerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters";
  }

  // Passed: the program came to its end, where it defines what its tests ask for.
  static CodeResult Run(const std::string& program, const CodeLimits& limits = {}) {
    const CodeTrial trial = {.program = program + "\ndef came_to_its_end():\n  return 1\n", .tests = "assert came_to_its_end() == 1\n"};
    const bool usual = limits.cpu_seconds == CodeLimits().cpu_seconds && limits.readable.empty();
    return usual ? Must(Shared().Check(trial)) : Must(Must(CodeChecker::Create(limits))->Check(trial));
  }
  // What tests say of a program that works.
  static std::string Tested(const std::string& program, const std::string& tests, const std::string& before = "") {
    return Must(Shared().Check({.program = program, .before = before, .tests = tests, .tested = {"f"}})).message;
  }
  static const CodeChecker& Shared() {
    static const auto* const checker = new std::unique_ptr<CodeChecker>(Must(CodeChecker::Create({})));
    return **checker;
  }
  // Tries `statement`, which must raise an error whose text has `word`.
  static void ExpectRefused(const std::string& statement, const std::string& word) {
    const CodeResult result = Run(absl::StrCat("try:\n  ", statement, "\nexcept (OSError, RuntimeError) as e:\n  assert '", word,
                                               "' in str(e), str(e)\nelse:\n  assert False, 'it worked'\n"));
    EXPECT_EQ(result.outcome, CodeOutcome::kPassed) << statement << ": " << result.message;
  }
};

TEST_F(CodeCheckerTest, HeaderExample) {
  const std::unique_ptr<CodeChecker> checker = Must(CodeChecker::Create({}));
  const CodeTrial trial = {.program = "def f(x):\n  return x\n", .tests = "assert f(1) == 1\n", .tested = {"f"}};
  const CodeResult result = Must(checker->Check(trial));
  EXPECT_EQ(result.outcome, CodeOutcome::kPassed) << result.message;
  EXPECT_GT(result.seconds, 0);
}

TEST_F(CodeCheckerTest, AFailedTestSaysWhy) {
  const CodeResult result = Run("assert 1 + 1 == 3, 'sum'\n");
  EXPECT_EQ(result.outcome, CodeOutcome::kFailed);
  EXPECT_EQ(result.message, "AssertionError: sum");
  EXPECT_EQ(Run("def f(:\n").outcome, CodeOutcome::kFailed);
  EXPECT_TRUE(absl::StrContains(Run("x = '''never closed\nassert True\n").message, "SyntaxError"));
  EXPECT_TRUE(absl::StrContains(Run(std::string("a\0b", 3)).message, "Error"));
}

TEST_F(CodeCheckerTest, TheStandardLibraryIsThereAndNothingElse) {
  EXPECT_EQ(Run("import math, re, json, decimal, itertools, collections, heapq, bisect, hashlib, datetime, typing, zlib, random\n"
                "assert math.gcd(12, 18) == 6 and hashlib.md5(b'a').hexdigest()[:4] == '0cc1'\n").message, "");
  EXPECT_TRUE(absl::StrContains(Run("import numpy\n").message, "ModuleNotFoundError"));
}

TEST_F(CodeCheckerTest, LeavingEarlyIsNotPassing) {
  for (const std::string leave : {"exit(0)", "import sys; sys.exit(0)", "import os; os._exit(0)", "raise SystemExit"}) {
    EXPECT_EQ(Run(leave + "\n").outcome, CodeOutcome::kFailed) << leave;
  }
  EXPECT_EQ(Run("import os; os._exit(0)\n").message, "it ended before its tests did, with exit code 0");
}

TEST_F(CodeCheckerTest, PlainValuesCrossUnchanged) {
  const std::string echo = "def f(x):\n  return x\n";
  EXPECT_EQ(Tested(echo, "for x in [None, True, False, 0, -255, 10 ** 20000, 1.5, float('inf'), 'a\\0\\ud800\\u202e', b'\\xff', 2 - 1j,\n"
                         "          [], (), set(), {}, [1, [2, (3,)]], {(1, 2): {'a'}}, frozenset({1}), {1: 2.0, None: [True]}]:\n"
                         "  assert f(x) == x and type(f(x)) is type(x), x\n"), "");
  EXPECT_EQ(Tested(echo, "assert str(f(-0.0)) == '-0.0' and f(float('nan')) != f(float('nan'))\n"), "");
  EXPECT_EQ(Tested("def f(x, kind, *, key):\n  return kind(x), key\n", "assert f('5', int, key=3) == (5, 3)\n"), "");
  EXPECT_EQ(Tested(echo, "assert f(f) == 1\n"), "AssertionError");
  EXPECT_EQ(Tested(echo, "f(lambda: 1)\n"), "the tests give a value of type function, expected plain ones");
}

TEST_F(CodeCheckerTest, ValuesThatInheritPlainOnesAreThese) {
  EXPECT_EQ(Tested("import collections, enum\nclass E(enum.IntEnum):\n  A = 3\nP = collections.namedtuple('P', 'x y')\n"
                   "def f():\n  return E.A, collections.Counter('aab'), P(1, 2), collections.OrderedDict(a=1)\n",
                   "assert f() == (3, {'a': 2, 'b': 1}, (1, 2), {'a': 1})\n"), "");
}

TEST_F(CodeCheckerTest, ObjectsStayWithTheProgram) {
  const std::string nodes = "class Node:\n  def __init__(self, value):\n    self.value, self.left = value, None\n"
                            "def f(node):\n  return node.value + (f(node.left) if node.left else 0)\n"
                            "def squares(n):\n  return (i * i for i in range(n))\ndef no():\n  return collections.deque()\n"
                            "import collections\n";
  EXPECT_EQ(Tested(nodes, "root = Node(1)\nroot.left = Node(20)\nassert f(root) == 21 and root.left.value == 20\n"), "");
  EXPECT_EQ(Tested(nodes, "assert list(squares(3)) == [0, 1, 4] and not no()\n"), "");
  EXPECT_EQ(Tested(nodes, "assert squares(3) == [0, 1, 4]\n"), "AssertionError") << "as in Python";
}

TEST_F(CodeCheckerTest, TestsRunWithTheDefinitionsOfTheirProblem) {
  EXPECT_EQ(Tested("def f(x):\n  return x ** 0.5\n", "assert math.isclose(f(2), 1.41421356, rel_tol=1e-6)\n", "import math\n"), "");
  EXPECT_EQ(Tested("def helper(x):\n  return 7\ndef f(x):\n  return x\n", "def check(f):\n  assert f(helper(1)) == 2\ncheck(f)\n",
                   "def helper(x):\n  return 2\n"), "") << "a helper of the problem is not the program's";
  const CodeTrial own_sum = {.program = "def sum(a):\n  return 5\n", .tests = "assert sum([1]) == 5\n", .tested = {"sum"}};
  EXPECT_EQ(Must(Shared().Check(own_sum)).message, "");
  EXPECT_EQ(Tested("def g():\n  pass\n", "assert f() == 1\n"), "NameError: name 'f' is not defined");
  EXPECT_EQ(Tested("def f(x):\n  x.append(1)\n", "x = []\nf(x)\nassert x == []\n"), "") << "arguments are copies";
}

TEST_F(CodeCheckerTest, AnErrorOfTheProgramCanBeExpected) {
  const std::string program = "def f(x):\n  if x < 0:\n    raise ValueError('negative')\n  return x\n";
  EXPECT_EQ(Tested(program, "try:\n  f(-1)\n  assert False\nexcept ValueError as e:\n  assert str(e) == 'negative'\n"), "");
  EXPECT_EQ(Tested(program, "f(-1)\n"), "ValueError: negative");
}

TEST_F(CodeCheckerTest, NoCapabilityIsLeftAndNoneCanBeGained) {
  const CodeResult result = Run("lines = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
                                "found = {name: int(lines[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')}\n"
                                "assert not any(found.values()), found\n"
                                "assert int(lines['NoNewPrivs']) == 1, 'NoNewPrivs'\nassert int(lines['Seccomp']) == 2, 'Seccomp'\n",
                                {.readable = {"/proc"}});
  if (prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 1 && geteuid() != 0) GTEST_SKIP() << "only a superuser can empty a bounding set";
  EXPECT_EQ(result.message, "");
}

TEST_F(CodeCheckerTest, OnlyAdvicesThatGiveMemoryBackAreTaken) {
  const CodeResult result = Run("import mmap\ntaken = []\nfor advice in [*range(128)]:\n"
                                "  pages = mmap.mmap(-1, 1 << 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n  pages[0] = 1\n"
                                "  try:\n    pages.madvise(advice)\n    taken.append(advice)\n"
                                "  except OSError as e:\n    assert 'not permitted' in str(e), (advice, str(e))\n"
                                "assert taken == [mmap.MADV_DONTNEED, 8], taken\n");   // 8: MADV_FREE.
  EXPECT_EQ(result.message, "");
}

TEST_F(CodeCheckerTest, TheProgramIsNotTheMainModuleAndHasNoInput) {
  EXPECT_EQ(Run("if __name__ == '__main__':\n  assert False\n").message, "");
  EXPECT_EQ(Run("input()\n").message, "EOFError: EOF when reading a line");
}

TEST_F(CodeCheckerTest, AnEndlessProgramIsKilled) {
  const CodeResult loop = Run("while True:\n  pass\n", {.cpu_seconds = 1});
  EXPECT_EQ(loop.outcome, CodeOutcome::kTimedOut) << loop.message;
  const CodeResult stubborn =
      Run("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n  pass\n", {.cpu_seconds = 1});
  EXPECT_EQ(stubborn.outcome, CodeOutcome::kKilled) << stubborn.message;
  const CodeResult sleeper = Run("import time\ntime.sleep(1000)\n", {.cpu_seconds = 1, .seconds = 0.5});
  EXPECT_EQ(sleeper.outcome, CodeOutcome::kTimedOut) << sleeper.message;
}

TEST_F(CodeCheckerTest, ProcessesAndThreadsAreRefused) {
  ExpectRefused("__import__('os').fork()", "not permitted");
  EXPECT_EQ(Run("import os\nassert os.system('true') != 0\n").message, "");
  ExpectRefused("__import__('subprocess').run(['/bin/true'])", "not permitted");
  ExpectRefused("__import__('threading').Thread(target=print).start()", "start new thread");
  EXPECT_EQ(Run("import os\nwhile True:\n  os.fork()\n").outcome, CodeOutcome::kFailed) << "a fork bomb ends at its first fork";
}

TEST_F(CodeCheckerTest, SignalsToOthersAreRefused) {
  ExpectRefused("__import__('os').kill(__import__('os').getppid(), 9)", "not permitted");
  ExpectRefused("__import__('os').kill(-1, 9)", "not permitted");
}

TEST_F(CodeCheckerTest, SocketsAreRefused) {
  ExpectRefused("__import__('socket').socket()", "not permitted");
  ExpectRefused("__import__('socket').socketpair()", "not permitted");
  ExpectRefused("__import__('urllib.request').request.urlopen('http://127.0.0.1/')", "not permitted");
}

TEST_F(CodeCheckerTest, FilesCannotBeChanged) {
  const TemporaryFolder folder;
  const std::string file = folder.Path("file");
  std::ofstream(file) << "as it was";
  ExpectRefused("open('" + file + "', 'w')", "not permitted");
  ExpectRefused("open('" + file + "', 'a')", "not permitted");
  ExpectRefused("open('" + folder.Path("new") + "', 'x')", "not permitted");
  ExpectRefused("open('here', 'w')", "not permitted");
  for (const std::string& call : std::vector<std::string>{
           "remove('" + file + "')", "rename('" + file + "', 'x')", "mkdir('" + folder.Path("new") + "')", "chmod('" + file + "', 0)",
           "truncate('" + file + "', 0)", "symlink('" + file + "', 'link')", "link('" + file + "', '" + folder.Path("new") + "')",
           "utime('" + file + "')", "mkfifo('" + folder.Path("new") + "')", "memfd_create('m')", "rmdir('" + folder.path() + "')"}) {
    ExpectRefused("__import__('os')." + call, "not permitted");
  }
  std::ifstream read(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "as it was");
  EXPECT_EQ(folder.Files(), 1);
}

TEST_F(CodeCheckerTest, OnlyFilesOfTheInterpreterCanBeRead) {
  if (!Shared().limits_reads()) GTEST_SKIP() << "this system has no Landlock";
  const TemporaryFolder folder;
  std::ofstream(folder.Path("secret")) << "secret";
  for (const std::string& path : {folder.Path("secret"), std::string("/etc/passwd"), std::string("/proc/self/environ"),
                                  std::string(TESSERA_SOURCE_DIR) + "/README.md"}) {
    ExpectRefused("open('" + path + "').read()", "denied");
  }
  ExpectRefused("__import__('os').listdir('/')", "denied");
  ExpectRefused("__import__('os').listdir('.')", "denied");
  ExpectRefused("__import__('os').execv('/bin/sh', ['sh', '-c', 'true'])", "denied");
  EXPECT_EQ(Run("import os\nassert open(os.__file__).read(7)\n").message, "");
}

TEST_F(CodeCheckerTest, AnExecutedProgramStaysInTheSandbox) {
  const CodeResult result = Run("import os, sys\nos.execv(sys.executable, [sys.executable, '-s', '-S', '-c', 'import os; os.fork()'])\n");
  EXPECT_EQ(result.outcome, CodeOutcome::kFailed);
  EXPECT_TRUE(absl::StrContains(result.message, "not permitted") || absl::StrContains(result.message, "denied")) << result.message;
}

TEST_F(CodeCheckerTest, AFloodOfTextEndsTheProgram) {
  const CodeResult result = Run("for i in range(1 << 20):\n  print('x' * 1024)\n");
  EXPECT_EQ(result.outcome, CodeOutcome::kWroteTooMuch);
  EXPECT_EQ(Run("print('x' * 100000)\n").outcome, CodeOutcome::kPassed);
}

TEST_F(CodeCheckerTest, MemoryHasALimit) {
  EXPECT_EQ(Run("a = bytearray(4 << 30)\n").message, "MemoryError");
  const CodeResult deep = Run("import sys\nsys.setrecursionlimit(10 ** 9)\ndef f():\n  f()\nf()\n", {.cpu_seconds = 1});
  EXPECT_NE(deep.outcome, CodeOutcome::kPassed) << "whatever stops it";
}

TEST_F(CodeCheckerTest, LimitsCannotBeRaised) {
  EXPECT_EQ(Run("import resource\nassert resource.getrlimit(resource.RLIMIT_CPU)[0] == 3\n").message, "");
  ExpectRefused("try:\n    __import__('resource').setrlimit(0, (-1, -1))\n  except ValueError as e:\n    raise OSError(str(e))", "not");
}

TEST_F(CodeCheckerTest, ControlCharactersDoNotComeThrough) {
  EXPECT_EQ(Run("raise ValueError('\\x1b[31m\\nred')\n").message, "red");
  EXPECT_EQ(Run("import os\nos.write(2, b'\\x1b[31m')\nos._exit(1)\n").message, "\\x1b[31m");
}

TEST_F(CodeCheckerTest, TextsHaveOneHash) {
  EXPECT_EQ(Run("assert hash('a') == hash('a')\nassert list({'a', 'b', 'c'})\nraise ValueError(hash('tessera'))\n").message,
            Run("raise ValueError(hash('tessera'))\n").message);
}

TEST_F(CodeCheckerTest, AnInterpreterThatIsNoneIsNamed) {
  const absl::Status none = CodeChecker::Create({.interpreter = "/nowhere/python3"}).status();
  EXPECT_TRUE(absl::StrContains(none.message(), "/nowhere/python3: cannot start: execve")) << none;
  const absl::Status other = CodeChecker::Create({.interpreter = "/bin/echo"}).status();
  EXPECT_TRUE(absl::StrContains(other.message(), "/bin/echo: found a program that says")) << other;
}

}  // namespace
}  // namespace tessera
