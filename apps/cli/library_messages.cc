#include "tessera/apps/cli/library_messages.h"

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/quoted.h"

namespace tessera {
namespace {

std::string program_name;

void Show(absl::string_view kind, absl::string_view message, absl::string_view place) {
  WriteMessage(absl::StrCat(program_name, ": ", kind, message, place, "\n"));
}

class MessageSink final : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char* file, int line, const google::LogMessageTime&, const char* message,
            size_t size) override {
    const bool fatal = severity == google::GLOG_FATAL;
    const std::string place = fatal ? absl::StrCat(" (", file, ":", line, ")") : "";  // A bug of ours: names the place to look.
    Show(severity == google::GLOG_WARNING ? "warning: " : "", {message, size}, place);
  }
  using google::LogSink::send;
};

// Shows a message of any level above info as a warning: the call's status tells the result.
void ShowProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  if (level != google::protobuf::LOGLEVEL_INFO) Show("warning: ", message, "");
}

}  // namespace

void ShowLibraryMessages(const std::string& program) {
  FLAGS_logtostderr = false;
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;  // The sink alone writes there,
  for (google::LogSeverity severity : {google::GLOG_INFO, google::GLOG_WARNING, google::GLOG_ERROR, google::GLOG_FATAL}) {
    google::SetLogDestination(severity, "");       // and no files.
  }
  program_name = program;
  if (!google::IsGoogleLoggingInitialized()) google::InitGoogleLogging(program_name.c_str());
  google::AddLogSink(new MessageSink);             // For as long as the process lives.
  google::protobuf::SetLogHandler(ShowProtobuf);
}

}  // namespace tessera
