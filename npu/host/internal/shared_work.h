// One operator's work, cut into parts that workers take as they come to them, so that none waits for one that was held up.
//
//   std::vector<TakenParts> taken(workers);                        // all 0 before the workers begin; one vector for each operator
//   ForEachPart(taken.data(), worker, workers, parts, [&](int64_t part) { ... });    // on every worker; each part is done once
//   ForEachPart(taken.data(), worker, workers, parts, do_part, [&] { pool.AwaitOthers(arrival); });   // waits before it helps
//
// Every worker has a share of neighbouring parts, which it takes in order, half of what is left of them at a time, at most four; then
// it helps the others, part by part, with what is left of theirs. Who does a part does not matter to any bit. What a worker takes it
// takes with one atomic addition, which waits until all its stores before are in the cache, and lines of results come from other cores:
// with one for each part, passes of several rows took 2 to 5 % longer (SmolLM2, two workers, build/bin/tessera_bench --rows 1,2,4,6,8
// --threads 2).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tessera/base/thread_pool.h"

namespace tessera {

struct alignas(64) TakenParts {
  std::atomic<int64_t> count{0};  // Of a worker's share, by whomever.
};

constexpr int64_t kMostAtOnce = 4;  // A worker that is held up keeps the others waiting for so many parts.

// before_helping: called once, between a worker's own parts and those of the others; never, where there is only one worker.
template <typename F, typename BeforeHelping>
void ForEachPart(TakenParts* taken, int worker, int workers, int64_t parts, F f, BeforeHelping before_helping) {
  for (int i = 0; i < workers; ++i) {
    if (i == 1) before_helping();
    const int owner = (worker + i) % workers;
    const Share share = ShareOf(parts, owner, workers);
    const int64_t count = share.end - share.begin;
    std::atomic<int64_t>& next = taken[owner].count;
    // Looked at before it is changed: others' lines are left alone when all is taken.
    for (int64_t taken_so_far; (taken_so_far = next.load(std::memory_order_relaxed)) < count;) {
      const int64_t wanted = i == 0 ? std::clamp<int64_t>((count - taken_so_far) / 2, 1, kMostAtOnce) : 1;
      const int64_t first = next.fetch_add(wanted, std::memory_order_relaxed);
      for (int64_t part = first; part < std::min(first + wanted, count); ++part) f(share.begin + part);
    }
  }
}

template <typename F>
void ForEachPart(TakenParts* taken, int worker, int workers, int64_t parts, F f) {
  ForEachPart(taken, worker, workers, parts, f, [] {});
}

}  // namespace tessera
