// Step-level beam search as a state machine. The search says which texts to continue and how often, takes the written steps with scores,
// and keeps the best steps. The caller writes and scores.
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
// The test-time scaling paper, section 2.1: beams are compared after each step, without lookahead (Snell et al. 2024, arXiv 2408.03314).
// `width` beams are kept. Each beam continues with `expansions` next steps. The best of all these steps are kept, no matter which beams
// they continue. An ended beam leaves and takes its place along: the next step keeps one beam less. The first step is written width *
// expansions times from the prompt alone. So no step has more rows than the first step. Among equal scores the earlier step wins. A score
// that is no number is below all other scores.
//
// Threads: thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Options of a search.
struct BeamOptions {
  int width = 4;                    // 1 to 1024.
  int expansions = 4;               // Per beam; 1 to 1024.
  std::string delimiter = "\n\n";   // Ends a step and belongs to the step.
  int most_steps = 40;              // 1 or more. Beams that have not ended by then are cut.
};

// A search over steps of texts.
class BeamSearch {
 public:
  // A step written after a beam, and the scorer's score of the text up to the step's end.
  struct Step {
    std::string text = {};   // Text after the first delimiter is dropped: that text is no part of the step.
    double score = 0;
    bool ended = false;      // The text ended with this step. Ignored if text was dropped.
  };
  // A text so far.
  struct Beam {
    std::string text = {};   // The text of all steps.
    double score = 0;        // The score of the last step.
    bool ended = false;
    int steps = 0;
    int from = -1;           // The index of the last step in the last Advance; -1: no step.
  };

  // Creates a search whose only beam has no text. WrongUsage (the field) for a number out of range, or an empty delimiter.
  static absl::StatusOr<BeamSearch> Create(const BeamOptions& options);

  bool done() const { return done_; }
  // The beams to continue, the best first; at first one beam without text. Once done: the cut beams.
  const std::vector<Beam>& beams() const { return beams_; }
  // Number of continuations per beam.
  int expansions() const { return steps_ == 0 ? options_.width * options_.expansions : options_.expansions; }
  // Takes the written steps: `expansions` steps for each beam, in the order of the beams. REQUIRES: that number of steps; not done.
  void Advance(absl::Span<const Step> steps);

  // The ended beams, in the order of ending. `from` refers to the Advance in which the beam ended.
  const std::vector<Beam>& ended() const { return ended_; }
  // All texts to choose among, by score or by a vote of answers (vote.h): the ended texts; without ended texts, the cut texts. REQUIRES:
  // done.
  const std::vector<Beam>& results() const;
  // The text with the largest score in results(), the first of several. REQUIRES: done.
  const Beam& best() const;

 private:
  explicit BeamSearch(const BeamOptions& options) : options_(options), beams_(1) {}

  BeamOptions options_;
  std::vector<Beam> beams_, ended_;
  int steps_ = 0;
  bool done_ = false;
};

}  // namespace tessera
