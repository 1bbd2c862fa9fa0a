// Runs code with system calls that answer as a test says, by filters of the kernel (seccomp). For processes of a test's own, since a filter
// stays.
//
//   EXPECT_EXIT(Restrict(SCMP_SYS(io_uring_setup), SCMP_ACT_ERRNO(EPERM)); Run(), testing::ExitedWithCode(0), "");
//   const auto full = [](pid_t, const seccomp_data&) -> std::optional<int64_t> { return -ENOSPC; };
//   EXPECT_EXIT(WithAnswers({SCMP_SYS(pwrite64)}, full, [] { RunAndExit(); }), testing::ExitedWithCode(1), "No space left");
//
// For tests of layers that link libseccomp.
#pragma once

#include <seccomp.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "glog/logging.h"

namespace tessera {

// Sets a filter's action for a system call of this thread and of threads that this thread starts.
inline void Restrict(int system_call, uint32_t action, const std::vector<scmp_arg_cmp>& if_arguments = {}) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  CHECK(filter != nullptr);
  CHECK_EQ(seccomp_rule_add_array(filter, action, system_call, if_arguments.size(), if_arguments.data()), 0);
  CHECK_EQ(seccomp_load(filter), 0);
  seccomp_release(filter);
}

// Runs body(), which ends the process, on a thread whose calls of `system_calls` get answer(thread, call): a result or -errno; nullopt: the
// kernel's own. The caller of the system call waits meanwhile. `answer` may use the caller's descriptors and, if the caller is a thread of
// this process, its memory.
template <typename Answer, typename Body>
[[noreturn]] void WithAnswers(const std::vector<int>& system_calls, const Answer& answer, const Body& body) {
  std::promise<int> listening;
  std::thread([&] {
    const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    for (const int system_call : system_calls) CHECK_EQ(seccomp_rule_add(filter, SCMP_ACT_NOTIFY, system_call, 0), 0);
    CHECK_EQ(seccomp_load(filter), 0);
    listening.set_value(seccomp_notify_fd(filter));
    body();
  }).detach();
  const int listener = listening.get_future().get();
  seccomp_notif* call = nullptr;
  seccomp_notif_resp* response = nullptr;
  CHECK_EQ(seccomp_notify_alloc(&call, &response), 0);
  while (true) {
    *call = {};
    if (seccomp_notify_receive(listener, call) != 0) continue;
    *response = {.id = call->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (const std::optional<int64_t> result = answer(static_cast<pid_t>(call->pid), call->data)) {
      const int64_t value = std::max<int64_t>(*result, 0), error = std::min<int64_t>(*result, 0);
      *response = {.id = call->id, .val = value, .error = static_cast<int>(error)};
    }
    seccomp_notify_respond(listener, response);
  }
}

template <typename Answer, typename Body>
[[noreturn]] void WithAnswers(int system_call, const Answer& answer, const Body& body) {
  WithAnswers(std::vector<int>{system_call}, answer, body);
}

}  // namespace tessera
