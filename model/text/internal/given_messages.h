// How the messages of a dialogue are given to a template: contents as texts or as lists of parts, whichever it writes.
//
//   ASSIGN_OR_RETURN(GivenMessages given, GivenMessages::Of(messages, {}));
//   ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, given.Write(run));   // `run` runs the template over the messages
//   if (const auto* said = given.LeftOut(pieces, run)) return given.Error(*said, place);
//
// What a template writes shows by trying it: words that no template writes by itself stand for what the messages say, and are looked for.
// A text becomes a list with one part where the template writes only such; parts become one text, a line each, where it writes only texts.
// Messages of one role have one form.
// No content is none, which prints nothing; or an empty text, where the template fails with none or leaves out a call beside it. Arguments
// of a call that are JSON text are parsed; or given as sent, where the template fails with the parsed form. A field that is null is not
// given. Thread-compatible.
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
#include "tessera/model/text/internal/message_fields.h"
#include "tessera/model/text/internal/tool_calls.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera {

class GivenMessages {
 public:
  using Run = absl::FunctionRef<absl::StatusOr<std::vector<ChatPiece>>(std::vector<jinja::Value> messages)>;
  using TakesField = absl::FunctionRef<bool(const JsonValue& object, FieldHolder holder, const std::string& key)>;  // Whether it is given.

  struct Options {
    bool knows_developer = true;   // Else the role "developer" is given as "system".
  };

  // A thing that a message says, which the template must write: a content that is no blank, each part of one, each call of a tool. Blank
  // parts stand for one thing more: a word in their place shows in which form the template takes a list.
  struct Said {
    enum class What { kText, kPart, kOther, kCall };  // kOther: a content of another kind than a text and a list of parts.
    What what = What::kText;
    size_t message = 0;
    size_t index = 0;    // The part's or the call's.
    bool is_blank = false;   // It says nothing, and only its form matters: a template may leave it out.
    bool seen = false;       // The word in its place was written.
  };

  // InvalidArgument for a part that is no text, for arguments of a call that are no JSON, and for a message that needs a content and has
  // none. The messages must outlive this.
  static absl::StatusOr<GivenMessages> Of(absl::Span<const ChatMessage> messages, const Options& options);

  // What the template makes of the messages, in the form in which it writes them; the errors of `run`, a refusal in the template's own
  // words before any other.
  absl::StatusOr<std::vector<ChatPiece>> Write(Run run);

  // What Write gave, up to the end of the last message's content, which a model continues. InvalidArgument for a message that has no end of
  // its content there. REQUIRES: there are messages; Write gave `written`, without a beginning of a further turn.
  absl::StatusOr<std::vector<ChatPiece>> WriteToContinue(absl::Span<const ChatPiece> written, Run run) const;

  // Returns the first thing that the template left out; null: there is none, or `run` met a limit before one was found, as the caller's
  // `run` knows. REQUIRES: Write gave `written`.
  const Said* LeftOut(absl::Span<const ChatPiece> written, Run run) const;
  // The error of it. `place` begins what is said of the template.
  absl::Status Error(const Said& said, absl::string_view place) const;

  // The messages as Write gave them, without the fields that are not taken.
  absl::StatusOr<std::vector<jinja::Value>> Values(TakesField takes) const { return Values(takes, Trial()); }

 private:
  enum class Content { kNone, kText, kParts, kOther };
  struct Message {
    const ChatMessage* message = nullptr;
    std::string role = {};                 // As the template gets it.
    Content content = Content::kNone;
    std::vector<std::string> texts = {};   // The text, or that of each part.
    std::vector<GivenCall> calls = {};
    std::optional<GivenCall> function_call = std::nullopt;
    bool other_form = false;               // A text is given as a list, parts as a text.
    size_t first_said = 0, end_said = 0;   // Places in said_.

    bool HasNoContentBesideCalls() const;  // Or none at all.
    bool HasSentArguments() const;         // Some are JSON text.
  };
  struct FormOfCalls {
    enum class Nothing { kAsSent, kText, kNone };
    Nothing nothing = Nothing::kAsSent;   // How no content, and an empty text beside calls, are given: all of them as a text, or as none.
    bool sent_arguments = false;   // Arguments as the client sent them.
  };
  // What is given otherwise to see what becomes of it.
  struct Trial {
    bool words = false;                // Words stand for all.
    const Said* changed = nullptr;     // Or a word for this alone; a call, or a content of another kind, is left out.
    bool leaves_out_message = false;   // The whole message in which that stands.
    absl::string_view end = {};        // What stands at the end of the last content.
  };

  absl::Status Add(const ChatMessage& message, const Options& options);
  absl::Status AddContent(const ChatMessage& message, Message& added);
  void AddBlankParts(const JsonValue& whole, Message& added);   // A list of parts that say nothing.
  absl::Status AddCalls(const ChatMessage& message, Message& added);
  absl::StatusOr<std::vector<jinja::Value>> Values(TakesField takes, const Trial& trial) const;
  absl::StatusOr<jinja::Value> ValueOf(const Message& message, TakesField takes, const Trial& trial) const;
  absl::StatusOr<jinja::Value> ContentOf(const Message& message, const Trial& trial) const;
  jinja::Value CallsOf(const Message& message, TakesField takes, const Trial& trial) const;
  absl::StatusOr<std::vector<ChatPiece>> WriteContents(Run run);   // In one form of calls.
  bool WritesCalls(const absl::StatusOr<std::vector<ChatPiece>>& written, Run run) const;
  std::vector<FormOfCalls> OtherFormsOfCalls() const;
  absl::StatusOr<std::vector<ChatPiece>> Try(Run run, const Trial& trial) const;
  std::string WordOf(const Said& said) const;
  std::string KeyOf(const Said& said) const;   // A key beside a part's text. Where the key comes out, the list was printed as such.
  bool Look(const absl::StatusOr<std::vector<ChatPiece>>& written);   // False: something was not written.
  std::vector<bool> OtherForms(bool look_at_unseen, Content kind) const;
  bool TakeForms(const std::vector<bool>& forms, Run run);
  absl::StatusOr<std::vector<ChatPiece>> TryForms(const std::vector<bool>& forms, Run run);   // Without looking for words.

  std::vector<Message> messages_;
  std::vector<Said> said_;
  FormOfCalls form_;
  int64_t argument_values_left_ = JsonValue::Limits().max_values;
};

// The joined text.
std::string TextOf(absl::Span<const ChatPiece> pieces);

}  // namespace tessera
