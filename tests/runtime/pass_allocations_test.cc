// What a token of plain decoding allocates: a pass must not begin to allocate more without anybody noticing.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

#ifndef TESSERA_SANITIZED   // A sanitizer has operators of its own. Inlined, g++ takes malloc and delete for a mismatch.
__attribute__((noinline)) void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace tessera {
namespace {

// What it takes today, most of it for looking up the embedding. A change may lower it.
constexpr int64_t kMostAllocations = 7;

TEST(PassAllocations, ATokenOfPlainDecodingAllocatesLittle) {
  if (kSanitized) GTEST_SKIP() << "allocations are not counted";
  const auto engine = TinyEngine({.layers = 4}, {.compute = {.threads = 2}});
  const auto session = Must(engine->NewSession());
  Must(session->Append({1, 2, 3, 4, 5}));
  std::vector<int64_t> of_tokens;
  for (int i = 0; i < 41; ++i) {
    const int64_t before = allocations.load();
    Must(session->Append({7}));
    of_tokens.push_back(allocations.load() - before);
  }
  std::sort(of_tokens.begin(), of_tokens.end());
  EXPECT_LE(of_tokens[20], kMostAllocations) << "the median: now and then a list of tokens grows";
  EXPECT_LE(of_tokens[38], kMostAllocations + 1);
  EXPECT_GT(of_tokens[0], 0) << "something is wrong with the counting";
}

}  // namespace
}  // namespace tessera
