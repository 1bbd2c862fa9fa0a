#include "tessera/runtime/scheduler/internal/pass_logits.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/base/thread_pool.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {
namespace {

// Releases the core during its lifetime, and takes the core again at the end, even if memory ends in a callback: a pass's mark ends under
// the hold (EngineCore::PassMark).
class Unheld {
 public:
  explicit Unheld(EngineCore::Hold& hold) : hold_(hold) { hold_.unlock(); }
  ~Unheld() { hold_.lock(); }
  Unheld(const Unheld&) = delete;
  Unheld& operator=(const Unheld&) = delete;

 private:
  EngineCore::Hold& hold_;
};

}  // namespace

void PassLogits::Ask(absl::Span<Member> members) {
  rows_.clear();
  shares_.clear();
  int most = core_.logits_at_once() + 1;
  for (Member& member : members) {
    if (most == 0) break;
    if (!member.status.ok()) continue;
    const absl::Span<const int> wanted = member.stream->WantsLogits(most);
    if (wanted.empty()) continue;
    shares_.push_back({&member, rows_.size(), rows_.size() + wanted.size(), member.stream->wants_top()});
    rows_.insert(rows_.end(), wanted.begin(), wanted.end());
    const bool is_first = member.first_rows == 0;
    if (is_first) member.first_round = static_cast<int>(rounds_.size());
    (is_first ? member.first_rows : member.later_rows) += static_cast<int>(wanted.size());
    most -= static_cast<int>(wanted.size());
  }
}

void PassLogits::FindTop(const StepClock& clock) {
  top_.assign(rows_.size(), {});
  const int count = static_cast<int>(std::count_if(shares_.begin(), shares_.end(), [](const Share& share) { return share.top > 0; }));
  if (count == 0) return;
  const double begin = clock.Seconds();
  std::vector<int> top_of(rows_.size());
  for (const Share& share : shares_) std::fill(top_of.begin() + share.begin, top_of.begin() + share.end, share.top);
  TopOf(logits_, top_of, absl::MakeSpan(top_));
  top_rows_ += static_cast<int>(std::count_if(top_of.begin(), top_of.end(), [](int top) { return top > 0; }));
  top_seconds_ += clock.SecondsSince(begin);
}

void PassLogits::TopOf(absl::Span<const float> logits, absl::Span<const int> tops, absl::Span<TopTokens> top) {
  const size_t vocabulary = static_cast<size_t>(core_.model().config().vocabulary);
  ThreadPool& pool = core_.pool();
  std::atomic<bool> out_of_memory = false;
  pool.Run([&](int worker) {
    const auto share = ShareOf(static_cast<long>(tops.size()), worker, pool.threads());
    try {
      for (long i = share.begin; i < share.end; ++i) {
        if (tops[i] > 0) top[i] = TopTokensOf(logits.subspan(i * vocabulary, vocabulary), tops[i]);
      }
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  // Thrown here, the exception reaches EngineCore::Guarded; thrown in a thread of the pool, the exception would end the process.
  if (out_of_memory) throw std::bad_alloc();
}

TensorView<const float> PassLogits::LogitsOf(const Share& share) const {
  const int64_t vocabulary = core_.model().config().vocabulary;
  return {logits_.data() + share.begin * vocabulary, static_cast<int64_t>(share.end - share.begin), vocabulary};
}

// Chooses the streams' next tokens in parallel. A stream without a draft chooses one token in a round. The sampler reads the whole
// vocabulary for one token, which takes a good part of a pass if many streams choose one after another.
void PassLogits::ChooseAhead() {
  ThreadPool& pool = core_.pool();
  if (shares_.size() < 2 || pool.threads() == 1) return;
  pool.Run([&](int worker) {
    const auto own = ShareOf(static_cast<long>(shares_.size()), worker, pool.threads());
    for (long i = own.begin; i < own.end; ++i) {
      try {
        shares_[i].member->stream->ChooseAhead(LogitsOf(shares_[i]));
      // If memory ends, nothing is chosen ahead; a thread of the pool could not report the error.
      } catch (const std::bad_alloc&) {
      }
    }
  });
}

void PassLogits::GiveRound() {
  for (const Share& share : shares_) {
    const size_t top = share.top > 0 ? share.end - share.begin : 0;
    share.member->status = share.member->stream->Give(LogitsOf(share), absl::MakeSpan(top_).subspan(share.begin, top));
  }
}

absl::Status PassLogits::GiveAhead(absl::Span<Member> members, const HiddenRows& pass, const StepClock& clock,
                                   const std::atomic<bool>* cancel) {
  rows_.clear();
  shares_.clear();
  for (Member& member : members) {
    const absl::Span<const int> wanted = member.status.ok() ? member.stream->WantsAhead() : absl::Span<const int>();
    if (wanted.empty()) continue;
    shares_.push_back({&member, rows_.size(), rows_.size() + wanted.size(), member.stream->wants_top_ahead()});
    rows_.insert(rows_.end(), wanted.begin(), wanted.end());
  }
  if (rows_.empty()) return absl::OkStatus();
  std::vector<int> tops(rows_.size());
  for (const Share& share : shares_) std::fill(tops.begin() + share.begin, tops.begin() + share.end, share.top);
  top_.assign(rows_.size(), {});
  const size_t vocabulary = static_cast<size_t>(core_.model().config().vocabulary), most = core_.logits_at_once() + 1;
  logits_ahead_.resize(std::max(logits_ahead_.size(), std::min(most, rows_.size()) * vocabulary));
  const double begin = clock.Seconds();
  for (size_t first = 0; first < rows_.size(); first += most) {
    const absl::Span<const int> rows = absl::MakeConstSpan(rows_).subspan(first, most);
    const int64_t count = static_cast<int64_t>(rows.size());
    const double head_begin = clock.Seconds();
    const TensorView<float> logits(logits_ahead_.data(), count, static_cast<int64_t>(vocabulary));
    RETURN_IF_ERROR(core_.runner().Logits(pass, rows, logits, cancel));
    rounds_ahead_.push_back({static_cast<int>(count), clock.SecondsSince(head_begin)});
    TopOf(logits_ahead_, absl::MakeConstSpan(tops).subspan(first, rows.size()), absl::MakeSpan(top_).subspan(first, rows.size()));
  }
  const double seconds = clock.SecondsSince(begin);
  for (const Share& share : shares_) {
    const size_t count = share.end - share.begin;
    share.member->ahead_rows = static_cast<int>(count);
    share.member->ahead_seconds = seconds * static_cast<double>(count) / static_cast<double>(rows_.size());
    share.member->stream->GiveAhead(absl::MakeSpan(top_).subspan(share.begin, count));
  }
  return absl::OkStatus();
}

absl::Status PassLogits::Give(absl::Span<Member> members, const HiddenRows& pass, const StepClock& clock,
                              const std::atomic<bool>* cancel, EngineCore::Hold& hold) {
  rounds_.clear();
  rounds_ahead_.clear();
  top_rows_ = 0;
  top_seconds_ = 0;
  const int64_t vocabulary = core_.model().config().vocabulary;
  for (Ask(members); !rows_.empty(); Ask(members)) {
    const int64_t rows = static_cast<int64_t>(rows_.size());
    const size_t needed = static_cast<size_t>(rows) * vocabulary;
    if (logits_.size() < needed) logits_.resize(needed);
    const double begin = clock.Seconds();
    RETURN_IF_ERROR(core_.runner().Logits(pass, rows_, TensorView<float>(logits_.data(), rows, vocabulary), cancel));
    rounds_.push_back({static_cast<int>(rows), clock.SecondsSince(begin)});
    FindTop(clock);
    ChooseAhead();
    {
      const Unheld unheld(hold);
      GiveRound();
    }
    RETURN_IF_ERROR(core_.health());
  }
  return GiveAhead(members, pass, clock, cancel);
}

}  // namespace tessera
