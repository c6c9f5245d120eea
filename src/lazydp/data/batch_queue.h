#pragma once
// The two-entry input queue: the batch of this step and, when asked for, the batch of the next.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/batch.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/samplers.h"

namespace lazydp {

// A thread that reads the batch of the next step while this one is computed.

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

enum class LookAhead : std::uint8_t { off, on };
enum class Reading : std::uint8_t { on_the_spot, ahead };  // ahead: by a thread of its own

// What a step reads is a pure function of (data set, sampler, t), whichever steps were read before:
// the queue only saves reading a batch twice, or waiting for it. Both must outlive it. Once batches
// have had their largest size, advancing allocates nothing.
class BatchQueue {
 public:
  BatchQueue(const Dataset& dataset, const Sampler& sampler, LookAhead look_ahead = LookAhead::on,
             Reading reading = Reading::on_the_spot);

  // Makes the batch of step t current and, with look-ahead, reads that of step t + 1.
  void advance(Step t);

  bool looks_ahead() const { return look_ahead_ == LookAhead::on; }

  // Valid until advance() is called again.
  const Batch& current() const;
  const Batch& next() const;  // only with look-ahead

 private:
  struct Entry {
    Step step = 0;  // 0: holds nothing
    Batch batch;
  };

  void fill(Entry& entry, Step t);

  const Dataset& dataset_;
  const Sampler& sampler_;
  LookAhead look_ahead_;
  Entry current_;
  Entry next_;
  std::vector<ExampleId> examples_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

}  // namespace lazydp
