// What some of the model's layers make of a text's tokens, told while passes compute them: a draft head reads it (eagle_expander.h).
//
//   class Listener : public LayerListener { ... };                             // of one text
//   ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, cancel));                      // its rows 3 to 7 are the text's
//   const ListeningRows listening[] = {{&listener, /*first_row=*/3, /*rows=*/5}};
//   RETURN_IF_ERROR(TellLayers(pass, listening));                               // runs the pass as far as there is a listener
//   ASSIGN_OR_RETURN(const HiddenRows done, core.Finish(pass, wanted));
//   ... tokens are chosen: of the text's rows 0, 2 and 3 are text now, from token 40 on ...
//   listener.EndPass(/*first=*/40, {17, 5, 9}, {0, 2, 3});
//
// No bit of a pass depends on its listeners. Threads: those of the pass; a listener belongs to one text.
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

  // What so many layers have made of a token is wanted: ascending, each 0 to the model's layers. They stay the same.
  virtual absl::Span<const int> layers() const = 0;

  // A pass begins in which the text has so many rows, numbered from 0 on: tokens of a prompt, or nodes of a tree.
  virtual void BeginPass(int rows) = 0;
  // What layers()[index] layers have made of the row: [width], valid during the call. A row that the pass drops is told no further.
  virtual void Take(int index, int row, absl::Span<const float> state) = 0;
  // The pass is over: token first + i of the text is tokens[i], and rows[i] was its row. Other rows are no part of the text, and what was
  // told before of tokens from `first` on no longer holds. No rows: the pass failed, or nothing of it was kept.
  // REQUIRES: as many tokens as rows, which were all told of.
  virtual void EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) = 0;
};

// A listener, and which rows of a pass are its text's.
struct ListeningRows {
  LayerListener* listener = nullptr;
  int first_row = 0;
  int rows = 0;
};

// The layers that these want, ascending, each once.
std::vector<int> LayersWanted(absl::Span<const ListeningRows> listening);

// BeginPass, and all that they want, in the order of layers: the pass is then at the last of these. No listeners: nothing happens.
// Errors are those of Pass::RunTo.
absl::Status TellLayers(Pass& pass, absl::Span<const ListeningRows> listening);

// The same in parts, for a pass that is walked for other reasons, too: BeginPass of each comes before, and this tells what they want of the
// layers first to end - 1. Rows that were dropped on the way are not told of. REQUIRES: pass.layer() <= first.
absl::Status TellSomeLayers(Pass& pass, absl::Span<const ListeningRows> listening, int first, int end);

}  // namespace tessera
