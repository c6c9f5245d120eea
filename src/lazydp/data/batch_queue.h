#pragma once
// The two-entry input queue: the batch of this step and, with look-ahead, the batch of the next.

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

// Reads the batch of the next step on a thread of its own while this step is computed.
//
// Returns the same batches as synchronous reading, for steps in any order; for consecutive steps
// the batch is already there. It reads on one core, so that the loops of a step keep theirs.
class ReadAhead {
 public:
  ReadAhead(const Dataset& dataset, const Sampler& sampler);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Makes `batch` that of step t, and starts to read that of t + 1. Rethrows the thread's
  // exception.
  void read(Step t, Batch& batch);

 private:
  void run();

  const Dataset& dataset_;
  const Sampler& sampler_;
  std::mutex guard_;
  std::condition_variable changed_;
  Step wanted_ = 0;  // 0: none
  Step ready_ = 0;   // step that `batch_` holds, or that `failure_` is about; 0: none
  bool ending_ = false;
  Batch batch_;
  std::exception_ptr failure_;
  std::thread thread_;
};

enum class LookAhead : std::uint8_t { off, on };
enum class Reading : std::uint8_t { on_the_spot, ahead };  // ahead: on a thread of its own

// The batch of a step is a pure function of (data set, sampler, t), whichever steps were read
// before: the queue only avoids reading a batch twice, or waiting for it. Data set and sampler must
// outlive the queue. Once batches have had their largest size, advancing allocates nothing.
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
    Step step = 0;  // 0: empty
    Batch batch;
  };

  void fill(Entry& entry, Step t);

  const Dataset& dataset_;
  const Sampler& sampler_;
  LookAhead look_ahead_;
  Entry current_;
  Entry next_;
  Sample sample_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

}  // namespace lazydp
