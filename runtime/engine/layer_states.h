// Hidden states after some of the model's layers, given to listeners while passes compute them. A draft head reads the states
// (eagle_expander.h).
//
//   class Listener : public LayerListener { ... };                             // of one text
//   ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, cancel));                      // its rows 3 to 7 are the text's
//   const ListeningRows listening[] = {{&listener, /*first_row=*/3, /*rows=*/5}};
//   RETURN_IF_ERROR(TellLayers(pass, listening));                               // runs the pass as far as there is a listener
//   ASSIGN_OR_RETURN(const HiddenRows done, core.Finish(pass, wanted));
//   ... tokens are chosen: of the text's rows 0, 2 and 3 are text now, from token 40 on ...
//   listener.EndPass(/*first=*/40, {17, 5, 9}, {0, 2, 3});
//
// No bit of a pass depends on its listeners. Threads: those of the pass; a listener belongs to one sequence.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/pass.h"

namespace tessera {

class LayerListener {
 public:
  virtual ~LayerListener() = default;

  // Returns the layer counts whose states are wanted: ascending, each 0 to the model's layers. State k is the state after the first k
  // layers. The list never changes.
  virtual absl::Span<const int> layers() const = 0;

  // Begins a pass in which the sequence has `rows` rows, numbered from 0 on: tokens of a prompt, or nodes of a tree.
  virtual void BeginPass(int rows) = 0;
  // Takes the state of `row` after layers()[index] layers: [width], valid during the call. Later states of a row that the pass drops are
  // not given.
  virtual void Take(int index, int row, absl::Span<const float> state) = 0;
  // Ends the pass. Token first + i of the sequence is tokens[i], and rows[i] was the token's row. Other rows are no part of the sequence.
  // Earlier states of tokens from `first` on no longer hold. No rows: the pass failed, or none of the pass's rows was kept.
  // REQUIRES: as many tokens as rows; all of the rows were given by Take.
  virtual void EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) = 0;
};

// A listener with the rows of its sequence in a pass.
struct ListeningRows {
  LayerListener* listener = nullptr;
  int first_row = 0;
  int rows = 0;
};

// Returns the layer counts that the listeners want, ascending, each once.
std::vector<int> LayersWanted(absl::Span<const ListeningRows> listening);

// Calls BeginPass, then gives all wanted states in the order of layers. Afterwards the pass is at the last wanted layer. No listeners:
// nothing happens. Returns the errors of Pass::RunTo.
absl::Status TellLayers(Pass& pass, absl::Span<const ListeningRows> listening);

// Gives the states of the layers `first` to `end` - 1 alone, for a pass that is walked for other reasons, too. The caller calls BeginPass
// of each listener before. Rows that were dropped on the way are not given. REQUIRES: pass.layer() <= first.
absl::Status TellSomeLayers(Pass& pass, absl::Span<const ListeningRows> listening, int first, int end);

}  // namespace tessera
