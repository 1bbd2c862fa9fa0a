// Draws the work of a phone's NPU, flash and CPU over time, as SVG text: requests below one another, on one axis of time.
//
//   Timeline timeline({.capacity = 1 << 14});
//   ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(costs, setup, work, &timeline));            // phone_request.h
//   const RequestPicture picture = {"A prompt is read", {{"published rule", timeline.Events()}}};
//   RETURN_IF_ERROR(WriteTextFile("request.svg", RequestPictureSvg(picture)));
//
// Blocks show their numbers, and change colour once their decode graphs are loaded. The axis ends a little after the last load (10 % of the
// time), since all later work looks alike. Without loads the axis shows all events. Texts may hold any characters. Thread-safe (pure
// function).
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
