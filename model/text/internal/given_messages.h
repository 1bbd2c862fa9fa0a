// How the messages of a dialogue are given to a template: contents as texts or as lists of parts, whichever it writes.
//
//   ASSIGN_OR_RETURN(GivenMessages given, GivenMessages::Of(messages));
//   ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, given.Write(run));   // `run` runs the template over the messages
//   if (const auto* said = given.LeftOut(pieces, run)) return given.Error(*said, place);
//
// What a template writes shows by trying it: words that no template writes by itself stand for what the messages say, and are looked for.
// A text becomes a list with one part where the template writes only such; parts become one text, a line each, where it writes only texts.
// Messages of one role have one form. Thread-compatible.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/json.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera {

class GivenMessages {
 public:
  using Run = absl::FunctionRef<absl::StatusOr<std::vector<ChatPiece>>(std::vector<jinja::Value> messages)>;
  using TakesField = absl::FunctionRef<bool(const JsonValue& message, const std::string& key)>;  // Whether a field is given.

  // A thing that a message says, which the template must write: a content that is no blank, each part of one, each call of a tool.
  struct Said {
    enum class What { kText, kPart, kOther, kCall };  // kOther: a content of another kind than a text and a list of parts.
    What what = What::kText;
    size_t message = 0;
    size_t index = 0;    // The part's or the call's.
    bool seen = false;   // The word in its place was written.
  };

  // InvalidArgument for a part that is no text. The messages must outlive this.
  static absl::StatusOr<GivenMessages> Of(absl::Span<const ChatMessage> messages);

  // What the template makes of the messages, in the form in which it writes them; the errors of `run`.
  absl::StatusOr<std::vector<ChatPiece>> Write(Run run);

  // The first thing that the template left out; null: none. REQUIRES: Write gave `written`.
  const Said* LeftOut(absl::Span<const ChatPiece> written, Run run) const;
  // The error of it. `place` begins what is said of the template.
  absl::Status Error(const Said& said, absl::string_view place) const;

  // The messages as Write gave them, without the fields that are not taken.
  absl::StatusOr<std::vector<jinja::Value>> Values(TakesField takes) const { return Values(takes, Trial()); }

 private:
  enum class Content { kNone, kText, kParts, kOther };
  struct Message {
    const ChatMessage* message = nullptr;
    Content content = Content::kNone;
    std::vector<std::string> texts = {};   // The text, or that of each part.
    bool other_form = false;               // A text is given as a list, parts as a text.
    size_t first_said = 0, end_said = 0;   // Places in said_.
  };
  // What is given otherwise to see what becomes of it.
  struct Trial {
    bool words = false;                // Words stand for all.
    const Said* changed = nullptr;     // Or a word for this alone; a call, or a content of another kind, is left out.
    bool leaves_out_message = false;   // The whole message in which that stands.
  };

  absl::Status Add(const ChatMessage& message);
  absl::StatusOr<std::vector<jinja::Value>> Values(TakesField takes, const Trial& trial) const;
  absl::StatusOr<jinja::Value> ValueOf(const Message& message, TakesField takes, const Trial& trial) const;
  absl::StatusOr<jinja::Value> ContentOf(const Message& message, const Trial& trial) const;
  absl::StatusOr<jinja::Value> CallsOf(const Message& message, const Trial& trial) const;
  absl::StatusOr<std::vector<ChatPiece>> Try(Run run, const Trial& trial) const;
  std::string WordOf(const Said& said) const;
  bool Look(const absl::StatusOr<std::vector<ChatPiece>>& written);   // False: something was not written.
  std::vector<bool> OtherForms(bool look_at_unseen, Content kind) const;
  bool TakeForms(const std::vector<bool>& forms, Run run);

  std::vector<Message> messages_;
  std::vector<Said> said_;
};

// The joined text.
std::string TextOf(absl::Span<const ChatPiece> pieces);

}  // namespace tessera
