#pragma once
// A thread that reads the batch of the next step while this one is computed.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/batch.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/sampler.h"

namespace lazydp {

// Gives what reading on the spot would give, for steps in any order; steps that follow each other
// are there already. It reads on one core, so that the loops of a step keep theirs.
class ReadAhead {
 public:
  ReadAhead(const Dataset& dataset, const Sampler& sampler);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Makes `batch` that of step t, and starts on that of t + 1. What went wrong in the thread is
  // thrown here.
  void read(Step t, Batch& batch);

 private:
  void run();

  const Dataset& dataset_;
  const Sampler& sampler_;
  std::mutex guard_;
  std::condition_variable changed_;
  Step wanted_ = 0;  // 0: nothing
  Step ready_ = 0;   // what `batch_` holds, or `failure_` is about; 0: nothing
  bool ending_ = false;
  Batch batch_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace lazydp
