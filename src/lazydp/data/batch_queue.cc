#include "lazydp/data/batch_queue.h"

#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {

BatchQueue::BatchQueue(const Dataset& dataset, const Sampler& sampler, LookAhead look_ahead,
                       Reading reading)
    : dataset_(dataset), sampler_(sampler), look_ahead_(look_ahead) {
  if (reading == Reading::ahead) read_ahead_ = std::make_unique<ReadAhead>(dataset, sampler);
}

void BatchQueue::advance(Step t) {
  check(t >= 1, "steps count from 1");
  if (next_.step == t) std::swap(current_, next_);
  fill(current_, t);
  if (look_ahead_ == LookAhead::on) fill(next_, t + 1);
}

const Batch& BatchQueue::current() const {
  check(current_.step != 0, "advance() comes before current()");
  return current_.batch;
}

const Batch& BatchQueue::next() const {
  check(next_.step != 0, "next() needs look-ahead and an advance()");
  return next_.batch;
}

// An entry is marked as empty while it is read into: should reading fail, nobody takes it for
// whole.
void BatchQueue::fill(Entry& entry, Step t) {
  if (entry.step == t) return;
  entry.step = 0;
  if (read_ahead_) {
    read_ahead_->read(t, entry.batch);
  } else {
    sampler_.draw(t, examples_);
    dataset_.read(examples_, entry.batch);
  }
  entry.step = t;
}

}  // namespace lazydp
