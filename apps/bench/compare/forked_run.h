// Runs a function in a process of its own, which sends this one messages.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ForkedRun> run, ForkedRun::Start([](MessageSender& sender) { return sender.Send(1, "found"); }));
//   ASSIGN_OR_RETURN(std::optional<Message> message, run->Next());          // {1, "found"}
//   ASSIGN_OR_RETURN(message, run->Next());                                 // none: the function has returned
//
// For two runs that must not share memory, flags or threads. A message is handed over when it is sent: the sender waits for the reader.
// Destroying the ForkedRun ends the process. Threads: no other thread may hold a lock when Start is called.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

struct Message {
  int kind = 0;          // From 0 on, as sender and reader agree.
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
  // The function sees the memory of this process as it is now, and cannot change it.
  static absl::StatusOr<std::unique_ptr<ForkedRun>> Start(const std::function<absl::Status(MessageSender& sender)>& function);
  ~ForkedRun();
  ForkedRun(const ForkedRun&) = delete;
  ForkedRun& operator=(const ForkedRun&) = delete;

  // Waits. None once the function has returned OK; its error if it returned one, with the mark of wrong usage if it had
  // that; Aborted if the process ended before.
  absl::StatusOr<std::optional<Message>> Next();

 private:
  ForkedRun(int process, int pipe) : process_(process), pipe_(pipe) {}
  const int process_, pipe_;
};

}  // namespace tessera
