// Runs a function in a child process, which sends messages to this process.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ForkedRun> run, ForkedRun::Start([](MessageSender& sender) { return sender.Send(1, "found"); }));
//   ASSIGN_OR_RETURN(std::optional<Message> message, run->Next());          // {1, "found"}
//   ASSIGN_OR_RETURN(message, run->Next());                                 // none: the function has returned
//
// For two runs that must not share memory, flags or threads. Sending waits until the reader takes the message. Destroying the ForkedRun
// ends the process. Threads: no other thread may hold a lock when Start is called.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

struct Message {
  int kind = 0;          // From 0 on; sender and reader agree on the meaning.
  std::string bytes;
};

class MessageSender {
 public:
  explicit MessageSender(int pipe) : pipe_(pipe) {}
  absl::Status Send(int kind, absl::string_view bytes);

 private:
  const int pipe_;
};

class ForkedRun {
 public:
  // Starts the process. The function sees a copy of this process's memory at this moment, and cannot change the original.
  static absl::StatusOr<std::unique_ptr<ForkedRun>> Start(const std::function<absl::Status(MessageSender& sender)>& function);
  ~ForkedRun();
  ForkedRun(const ForkedRun&) = delete;
  ForkedRun& operator=(const ForkedRun&) = delete;

  // Waits for the next message. Returns none once the function has returned OK. Returns the function's error if the function failed, with
  // the mark of wrong usage if the error had that mark. Aborted if the process ended before the function returned.
  absl::StatusOr<std::optional<Message>> Next();

 private:
  ForkedRun(int process, int pipe) : process_(process), pipe_(pipe) {}
  const int process_, pipe_;
};

}  // namespace tessera
