// Gives the messages of a dialogue to a template: contents as texts or as lists of parts, in the form that the template writes.
//
//   ASSIGN_OR_RETURN(GivenMessages given, GivenMessages::Of(messages, {}));
//   ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, given.Write(run));   // `run` runs the template over the messages
//   if (const auto* said = given.LeftOut(pieces, run)) return given.Error(*said, place);
//
// Trials show which form a template writes: words that no template writes itself replace the messages' contents, and the output is searched
// for the words. A text becomes a list with one part if the template writes only lists. Parts become one text, a line each, if the template
// writes only texts. Messages of one role have one form. A missing content is given as none, which prints nothing. It is given as an empty
// text if the template fails with none, or leaves out a call next to none. Arguments of a call in JSON text are parsed, or given as sent if
// the template fails with the parsed form. A null field is not given. Thread-compatible.
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
  // Returns true if the field is given.
  using TakesField = absl::FunctionRef<bool(const JsonValue& object, FieldHolder holder, const std::string& key)>;

  struct Options {
    bool knows_developer = true;   // False: the role "developer" is given as "system".
  };

  // A statement of a message that the template must write: a content that is not blank, each part of a content, each tool call. Blank parts
  // add one more statement: a word in their place shows the form in which the template takes a list.
  struct Said {
    enum class What { kText, kPart, kOther, kCall };  // kOther: a content that is neither a text nor a list of parts.
    What what = What::kText;
    size_t message = 0;
    size_t index = 0;    // Index of the part or the call.
    bool is_blank = false;   // The statement is empty, and only its form matters: a template may leave it out.
    bool seen = false;       // The template wrote the word in the statement's place.
  };

  // Returns InvalidArgument for a part that is no text, for arguments of a call that are no JSON, and for a message that lacks a needed
  // content. The messages must outlive the result.
  static absl::StatusOr<GivenMessages> Of(absl::Span<const ChatMessage> messages, const Options& options);

  // Returns the template's output, with the messages in the form that the template writes. Returns the errors of `run`; a refusal by the
  // template itself comes before any other error.
  absl::StatusOr<std::vector<ChatPiece>> Write(Run run);

  // Returns the output of Write up to the end of the last message's content, which a model continues. Returns InvalidArgument if the
  // message's content does not end in the output. REQUIRES: there are messages; Write returned `written`, without the start of a further
  // turn.
  absl::StatusOr<std::vector<ChatPiece>> WriteToContinue(absl::Span<const ChatPiece> written, Run run) const;

  // Returns the first statement that the template left out. Null: there is none, or `run` met a limit before one was found; the caller's
  // `run` knows about the limit. REQUIRES: Write returned `written`.
  const Said* LeftOut(absl::Span<const ChatPiece> written, Run run) const;
  // Returns the error of a left-out statement. `place` starts the message about the template.
  absl::Status Error(const Said& said, absl::string_view place) const;

  // Returns the messages as Write gave them, without the fields that are not taken.
  absl::StatusOr<std::vector<jinja::Value>> Values(TakesField takes) const { return Values(takes, Trial()); }

 private:
  enum class Content { kNone, kText, kParts, kOther };
  struct Message {
    const ChatMessage* message = nullptr;
    std::string role = {};                 // As given to the template.
    Content content = Content::kNone;
    std::vector<std::string> texts = {};   // The text, or the text of each part.
    std::vector<GivenCall> calls = {};
    std::optional<GivenCall> function_call = std::nullopt;
    bool other_form = false;               // A text is given as a list, parts are given as a text.
    size_t first_said = 0, end_said = 0;   // Range in said_.

    bool HasNoContentBesideCalls() const;  // Blank next to calls, or no content at all.
    bool HasSentArguments() const;         // Some arguments are JSON text.
  };
  struct FormOfCalls {
    enum class Nothing { kAsSent, kText, kNone };
    // The form of missing contents, and of empty texts next to calls: all as sent, all as a text, or all as none.
    Nothing nothing = Nothing::kAsSent;
    bool sent_arguments = false;   // Arguments as the client sent them.
  };
  // The differences of a trial.
  struct Trial {
    bool words = false;                // Words replace all statements.
    const Said* changed = nullptr;     // Or a word replaces only this statement; a call, or a content of another kind, is left out.
    bool leaves_out_message = false;   // Leaves out the whole message of the changed statement.
    absl::string_view end = {};        // Text added at the end of the last content.
  };

  absl::Status Add(const ChatMessage& message, const Options& options);
  absl::Status AddContent(const ChatMessage& message, Message& added);
  void AddBlankParts(const JsonValue& whole, Message& added);   // Adds a list of parts without text.
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
  // Returns a key next to a part's text. If the key is in the output, the list was printed as a list.
  std::string KeyOf(const Said& said) const;
  bool Look(const absl::StatusOr<std::vector<ChatPiece>>& written);   // False: a statement was not written.
  std::vector<bool> OtherForms(bool look_at_unseen, Content kind) const;
  bool TakeForms(const std::vector<bool>& forms, Run run);
  absl::StatusOr<std::vector<ChatPiece>> TryForms(const std::vector<bool>& forms, Run run);   // Without a search for words.

  std::vector<Message> messages_;
  std::vector<Said> said_;
  FormOfCalls form_;
  int64_t argument_values_left_ = JsonValue::Limits().max_values;
};

// Returns the joined text.
std::string TextOf(absl::Span<const ChatPiece> pieces);

}  // namespace tessera
