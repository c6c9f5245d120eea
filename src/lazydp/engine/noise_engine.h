#pragma once
// Takes private steps on embedding tables that belong to the caller's trainer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "lazydp/base/types.h"
#include "lazydp/noise/policy.h"

namespace lazydp {

// A table of the caller's: rows of `dim` floats, one after the other. The memory stays the
// caller's, must not move, and must outlive the engine.
struct BorrowedTable {
  std::span<float> weights;  // rows x dim
  std::size_t dim = 0;       // floats in a row
};

// The gradient of one table, in factors: every row that bag i names receives the values of bag i,
// as often as the bag names it.
struct BagGradients {
  std::span<const RowId> ids;            // the rows that were looked up; they may repeat
  std::span<const std::size_t> offsets;  // bag i: ids[offsets[i]] ... ids[offsets[i + 1] - 1]; none
                                         // at all: each id is a bag of its own
  std::span<const float> values;         // bags x dim: the gradient of each bag's sum of rows

  // Returns the number of bags.
  std::size_t bags() const {
    if (!offsets.empty()) return offsets.size() - 1;
    return ids.size();
  }
};

// The rule by which one step moves a weight: w <- w - learning_rate * (weight_decay * w + (sum of
// clipped gradients + noise) / expected_batch), the noise N(0, (noise_multiplier * clip_norm)^2) on
// every weight of every table, whether a gradient reached it or not.
struct StepRule {
  double learning_rate = 0.0;     // positive
  double clip_norm = 0.0;         // no example's gradient, over all parameters, is longer than this
  double noise_multiplier = 0.0;  // standard deviation of the noise on the sum, in clip norms
  double expected_batch = 0.0;    // a public number; never the number of examples that were drawn
  double weight_decay = 0.0;      // above 0 only if the engine was made with `decays`
};

// Options that hold for an engine's lifetime.
struct EngineOptions {
  NoisePolicy policy = NoisePolicy::lazy_aggregated;  // when rows receive their noise
  bool decays = false;                                // whether weight decay will be used
  unsigned noise_draws = 1;                           // normals that add up to one, 1 to 16
  // Fixes the noise, so that an experiment repeats. No privacy may be claimed for such a run.
  std::optional<std::uint64_t> fixed_seed = std::nullopt;
};

// Invariant: a row that has been settled carries all the noise and all the weight decay of the
// steps so far. Settle rows before you read them, and all rows before the tables leave the trainer.
// The noise is a pure function of a secret seed and of (table, row, step): threads change nothing.
//
// To stop and continue later: settle_all(), save the weights, and make a new engine on them. Its
// seed is fresh, and its rows owe nothing. Never continue twice from rows that are not settled: the
// same gradients would receive two independent noises, and the guarantee would be void.
//
// Calls of one engine may not overlap. Rows that are settled may be read from any thread.
class NoiseEngine {
 public:
  // Takes over the tables as they are. Table k draws the noise of table k, so their order is part
  // of what a fixed seed repeats. Throws UserError for a table that is empty or not whole rows,
  // IoError if the operating system has no random bytes.
  NoiseEngine(std::span<const BorrowedTable> tables, const EngineOptions& options);
  ~NoiseEngine();

  NoiseEngine(const NoiseEngine&) = delete;  // owed noise must not be added twice
  NoiseEngine& operator=(const NoiseEngine&) = delete;

  // On return the rows that `ids` names are settled. Call this before each look-up.
  void settle(std::size_t table, std::span<const RowId> ids);

  // Takes a step on all tables at once: gradients[k] is the sum over examples of their clipped
  // gradients of table k. It may be empty, and is still a step. Throws UserError, and changes
  // nothing, for ids outside a table or a rule that is not valid. Returns the number of the step,
  // from 1.
  Step step(const StepRule& rule, std::span<const BagGradients> gradients);

  // On return every row of every table is settled: the tables may be read, saved and released.
  void settle_all();

  // Returns whether every row of every table is settled.
  bool all_settled() const;

  // Returns the number of steps so far.
  Step steps() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Adds to squared[i] the squared norm of example i's gradient of one table, whose bag is the i-th:
// clipping needs the norm, but not the gradient itself. A row that a bag names m times counts m^2.
void add_squared_norms(const BagGradients& gradients, std::span<float> squared);

// Returns the library's version, as "1.2.3".
const char* library_version();

}  // namespace lazydp
