// Step-level beam search as a state machine: it says from which texts to go on and how often, takes the steps that were written with their
// scores, and keeps the best. It writes nothing and scores nothing itself.
//
//   ASSIGN_OR_RETURN(BeamSearch search, BeamSearch::Create({.width = 4, .expansions = 4, .delimiter = "\n\n", .most_steps = 40}));
//   while (!search.done()) {
//     std::vector<BeamSearch::Step> steps;
//     for (const BeamSearch::Beam& beam : search.beams()) {
//       for (int i = 0; i < search.expansions(); ++i) steps.push_back(WriteAndScore(prompt + beam.text));
//     }
//     search.Advance(steps);
//   }
//   search.best().text;
//
// Paper 001, section 2.1: beams are compared after each step, without lookahead (Snell et al. 2024, arXiv 2408.03314). `width` beams are
// kept; each goes on with `expansions` next steps, of which the best are kept again, whatever beam they go on from. A beam that has ended
// leaves, and its place with it: the next step keeps one less. The first step is written width * expansions times from the prompt alone, so
// no step has more rows than that, and the first has as many. Equal scores: the one that was given first. A score that is no number is
// below all others. Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct BeamOptions {
  int width = 4;                    // 1 to 1024.
  int expansions = 4;               // For each beam; 1 to 1024.
  std::string delimiter = "\n\n";   // Ends a step, and is part of it.
  int most_steps = 40;              // 1 and up. Beams that have not ended by then are cut there.
};

class BeamSearch {
 public:
  // A step that was written after a beam, and what a scorer says of the text up to its end.
  struct Step {
    std::string text = {};   // What follows its first delimiter is left out: it is no part of the step.
    double score = 0;
    bool ended = false;      // The text ended with it. Without a meaning where something was left out.
  };
  struct Beam {
    std::string text = {};   // All its steps.
    double score = 0;        // That of the last one.
    bool ended = false;
    int steps = 0;
    int from = -1;           // Its last step, by its number among those of the last Advance; -1: it has none.
  };

  // WrongUsage (the field) for a number out of range, or an empty delimiter.
  static absl::StatusOr<BeamSearch> Create(const BeamOptions& options);

  bool done() const { return done_; }
  // Those to go on from, the best first; at first one without a text. Once done: those that were cut.
  const std::vector<Beam>& beams() const { return beams_; }
  // How often to go on from each of them.
  int expansions() const { return steps_ == 0 ? options_.width * options_.expansions : options_.expansions; }
  // One step for each of the beams, `expansions` times, in their order. REQUIRES: as many; not done.
  void Advance(absl::Span<const Step> steps);

  // Beams that have ended, in the order in which they did. `from` counts for the Advance in which they did.
  const std::vector<Beam>& ended() const { return ended_; }
  // All texts to choose among, by score or by the vote of their answers (vote.h): those that have ended or, where none has, those that
  // were cut. REQUIRES: done.
  const std::vector<Beam>& results() const;
  // That of the largest score among them, the first if several have it. REQUIRES: done.
  const Beam& best() const;

 private:
  explicit BeamSearch(const BeamOptions& options) : options_(options), beams_(1) {}

  BeamOptions options_;
  std::vector<Beam> beams_, ended_;
  int steps_ = 0;
  bool done_ = false;
};

}  // namespace tessera
