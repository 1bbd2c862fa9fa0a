// Runs a program with subcommands (apps/cli/commands.h) in a new process, because the function starts and ends a program.
//
//   EXPECT_EQ(RunCommands({"count", "--prompt=four"}, {.name = "tessera_x", .summary = "..."}, commands).output, "4 bytes\n");
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glog/logging.h>

#include "tessera/apps/cli/commands.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {

inline Ended RunCommands(std::vector<std::string> arguments, const AppInfo& program, const std::vector<Command>& commands,
                         const std::function<absl::Status()>& run = nullptr) {
  int output[2], errors[2];
  CHECK_EQ(pipe2(output, O_CLOEXEC), 0);
  CHECK_EQ(pipe2(errors, O_CLOEXEC), 0);
  const pid_t process = fork();
  if (process == 0) {
    dup2(output[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    google::ShutdownGoogleLogging();  // The test's own; the program starts another.
    FLAGS_prompt.clear();             // Other tests set the flag.
    arguments.insert(arguments.begin(), program.name);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    _exit(CommandsMain(static_cast<int>(argv.size()), argv.data(), program, commands, run));
  }
  close(output[1]);
  close(errors[1]);
  const auto read_all = [](int file) {
    std::string text;
    char bytes[4096];
    for (ssize_t count; (count = read(file, bytes, sizeof(bytes))) > 0;) text.append(bytes, count);
    close(file);
    return text;
  };
  Ended ended;
  ended.output = read_all(output[0]);
  ended.errors = read_all(errors[0]);
  int status = 0;
  CHECK_EQ(waitpid(process, &status, 0), process);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace tessera
