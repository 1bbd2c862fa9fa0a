// What this machine can do at best, by plain loops that share nothing with Tessera: compare_roofline.py compiles this for the
// CPU it runs on and holds tessera_bench's probes against it.
//
//   roofline_loop THREADS       prints {"read": bytes/s, "int8": operations/s, "fp32": operations/s}
//
// Each thread has its own part of 512 MiB and its own sums; the clock runs from a barrier to the last thread's end.
#include <immintrin.h>
#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

constexpr size_t kBuffer = size_t{512} << 20;
constexpr int64_t kRounds = int64_t{1} << 22;
constexpr int kQuads = 8;

// The instructions, and how many sums are kept: enough to hide their latency, as many as registers hold. AVX2 adds up eight products
// of 4-bit weights in 16 bits before it widens them.
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
typedef __m512i Bytes;
inline Bytes Product(Bytes sum, Bytes a, Bytes b) { return _mm512_dpbusd_epi32(sum, a, b); }
inline Bytes Widened(Bytes, Bytes sum) { return sum; }
inline Bytes Start(Bytes sum) { return sum; }
typedef __m512 Floats;
inline Floats MultiplyAdd(Floats a, Floats b, Floats sum) { return _mm512_fmadd_ps(a, b, sum); }
constexpr int kBytes = 64, kChains = 16, kInt8Chains = 16;
#else
typedef __m256i Bytes;
inline Bytes Product(Bytes pairs, Bytes a, Bytes b) { return _mm256_add_epi16(pairs, _mm256_maddubs_epi16(a, b)); }
inline Bytes Widened(Bytes sum, Bytes pairs) { return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))); }
inline Bytes Start(Bytes) { return _mm256_setzero_si256(); }
typedef __m256 Floats;
inline Floats MultiplyAdd(Floats a, Floats b, Floats sum) { return _mm256_fmadd_ps(a, b, sum); }
constexpr int kBytes = 32, kChains = 10, kInt8Chains = 4;
#endif

typedef uint64_t Words __attribute__((vector_size(kBytes)));

volatile uint64_t sink;  // Results go somewhere, or the loops would be left out.

void Read(const char* begin, size_t bytes) {
  Words sums[8] = {};
  for (const char* p = begin; p < begin + bytes; p += 8 * kBytes) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) sums[i] ^= *reinterpret_cast<const Words*>(p + i * kBytes);
  }
  for (int i = 1; i < 8; ++i) sums[0] ^= sums[i];
  sink = sums[0][0];
}

// Factors pass through an empty asm, and so do sums before they grow: no product is taken out of a loop, and no two chains are one.
double Int8() {
  Bytes sums[kInt8Chains] = {}, a = {}, b = {};
  for (Bytes& sum : sums) asm volatile("" : "+v"(sum));
  for (int64_t round = 0; round < kRounds; round += kQuads) {
    Bytes pairs[kInt8Chains];
#pragma GCC unroll 16
    for (int i = 0; i < kInt8Chains; ++i) pairs[i] = Start(sums[i]);
#pragma GCC unroll 8
    for (int quad = 0; quad < kQuads; ++quad) {
#pragma GCC unroll 16
      for (int i = 0; i < kInt8Chains; ++i) {
        asm volatile("" : "+v"(a), "+v"(b), "+v"(pairs[i]));
        pairs[i] = Product(pairs[i], a, b);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kInt8Chains; ++i) sums[i] = Widened(sums[i], pairs[i]);
  }
  for (int i = 0; i < kInt8Chains; ++i) sink = static_cast<uint64_t>(sums[i][0]);
  return 2.0 * kBytes * kInt8Chains * static_cast<double>(kRounds);
}

double Fp32() {
  Floats sums[kChains] = {}, a = {}, b = {};
  for (Floats& sum : sums) asm volatile("" : "+v"(sum));
  for (int64_t round = 0; round < kRounds; ++round) {
    asm volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = MultiplyAdd(a, b, sums[i]);
  }
  float total = 0;
  for (int i = 0; i < kChains; ++i) total += sums[i][0];
  sink = static_cast<uint64_t>(total);
  return 2.0 * (kBytes / 4) * kChains * static_cast<double>(kRounds);
}

// Runs body(thread) on all threads at once; seconds from the barrier to the end of the last.
template <typename Body>
double SecondsOf(int threads, Body body) {
  std::barrier barrier(threads + 1);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      barrier.arrive_and_wait();
      body(thread);
      barrier.arrive_and_wait();
    });
  }
  barrier.arrive_and_wait();
  const auto begin = std::chrono::steady_clock::now();
  barrier.arrive_and_wait();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  for (std::thread& thread : running) thread.join();
  return seconds.count();
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (threads < 1) return 2;
  char* buffer = static_cast<char*>(mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (buffer == MAP_FAILED) return 1;
  madvise(buffer, kBuffer, MADV_HUGEPAGE);
  const size_t part = kBuffer / threads / 4096 * 4096;
  SecondsOf(threads, [&](int thread) { std::memset(buffer + thread * part, 1, part); });
  const double read = SecondsOf(threads, [&](int thread) { Read(buffer + thread * part, part); });
  std::atomic<int64_t> int8_done{0}, fp32_done{0};
  const double int8 = SecondsOf(threads, [&](int) { int8_done += static_cast<int64_t>(Int8()); });
  const double fp32 = SecondsOf(threads, [&](int) { fp32_done += static_cast<int64_t>(Fp32()); });
  std::printf("{\"read\": %.6g, \"int8\": %.6g, \"fp32\": %.6g}\n", static_cast<double>(part * threads) / read,
              static_cast<double>(int8_done) / int8, static_cast<double>(fp32_done) / fp32);
}
