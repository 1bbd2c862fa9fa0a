// What a phone's NPU, flash and CPU did when while requests were worked on, as SVG text: requests below one another, on one axis of time.
//
//   Timeline timeline({.capacity = 1 << 14});
//   ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(costs, setup, work, &timeline));            // phone_request.h
//   const RequestPicture picture = {"A prompt is read", {{"published rule", timeline.Events()}}};
//   RETURN_IF_ERROR(WriteTextFile("request.svg", RequestPictureSvg(picture)));
//
// Blocks have their numbers, and are drawn in another colour once their decode graphs are loaded. The axis ends a little after the last
// load, where all that is new has happened; without loads it has everything. Texts may hold any characters. Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "tessera/base/timeline.h"

namespace tessera {

struct RequestPicture {
  struct Part {
    std::string name = {};
    std::vector<TimelineEvent> events = {};   // As SimulateRequest records them.
  };
  std::string title = {};
  std::vector<Part> parts = {};
};

std::string RequestPictureSvg(const RequestPicture& picture);

}  // namespace tessera
