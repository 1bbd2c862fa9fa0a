#include "tessera/storage/internal/reading_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace tessera {

void RunBeforeOthers() {
  constexpr int kNice = -10;
  const sched_param least = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  if (sched_setscheduler(gettid(), SCHED_FIFO, &least) != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

void RunAfterOthers() {
  const int nice = std::max(10, getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())));  // The user may have asked for less.
  const sched_param none = {};
  sched_setscheduler(gettid(), SCHED_BATCH, &none);  // Such a thread does not interrupt the thread that wakes it.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice);
}

}  // namespace tessera
