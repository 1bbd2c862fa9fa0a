// A thread that draws the progress of a job ten times per second, so that the line moves while a step of the job takes seconds.
//
//   DrawingThread drawing([&] { progress.Update(done); });        // done: an atomic number
//   ...
//   drawing.End();                                                // nothing is drawn from here on
//
// Where the system has no thread to give, nothing is drawn. Threads: one thread makes and ends the object; `draw` is called on the drawing
// thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tessera {

class DrawingThread {
 public:
  explicit DrawingThread(std::function<void()> draw);
  ~DrawingThread() { End(); }
  DrawingThread(const DrawingThread&) = delete;
  DrawingThread& operator=(const DrawingThread&) = delete;

  void End();   // Waits for the drawing that is under way. Later calls do nothing.

 private:
  void DrawUntilDone();

  const std::function<void()> draw_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace tessera
