// Programs that models wrote, run with their tests: what passes, and what hostile ones can do.
#include "tessera/apps/scale/code_checker.h"

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

  static CodeResult Run(const std::string& program, CodeLimits limits = {}) {
    if (limits.cpu_seconds == CodeLimits().cpu_seconds) return Must(Shared().Check(program));
    return Must(Must(CodeChecker::Create(limits))->Check(program));
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
  const CodeResult result = Must(checker->Check("def f(x):\n  return x\n\nassert f(1) == 1\n"));
  EXPECT_EQ(result.outcome, CodeOutcome::kPassed) << result.message;
  EXPECT_GT(result.seconds, 0);
}

TEST_F(CodeCheckerTest, AFailedTestSaysWhat) {
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
  EXPECT_EQ(Run("import os; os.write(3, b'0' * 32); os._exit(0)\n").outcome, CodeOutcome::kFailed) << "a guess";
  EXPECT_EQ(Run("import os; os.write(3, b'0' * 100000)\n").outcome, CodeOutcome::kFailed);
}

TEST_F(CodeCheckerTest, ItIsNotTheMainModuleAndHasNoInput) {
  EXPECT_EQ(Run("if __name__ == '__main__':\n  assert False\n").message, "");
  EXPECT_EQ(Run("input()\n").message, "EOFError: EOF when reading a line");
}

TEST_F(CodeCheckerTest, WhatNeverEndsIsKilled) {
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

TEST_F(CodeCheckerTest, WhatIsExecutedStaysInTheSandbox) {
  const CodeResult result = Run("import os, sys\nos.execv(sys.executable, [sys.executable, '-s', '-S', '-c', 'import os; os.fork()'])\n");
  EXPECT_EQ(result.outcome, CodeOutcome::kFailed);
  EXPECT_TRUE(absl::StrContains(result.message, "not permitted") || absl::StrContains(result.message, "denied")) << result.message;
}

TEST_F(CodeCheckerTest, AFloodOfTextEndsIt) {
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
