#pragma once
// Scores all pairs of users and items with a released model.

#include <cstddef>
#include <memory>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"
#include "lazydp/release/loaded_model.h"

namespace lazydp {

// The part of a model's input that a user brings; the item brings the rest.
struct UserPart {
  std::vector<bool> dense;   // for each dense feature
  std::vector<bool> tables;  // for each table

  // Returns whether the dense features come from one side, so that the bottom MLP's output does.
  bool dense_from_one_side() const;
};

class PairScorer {
 public:
  virtual ~PairScorer() = default;

  // Takes the users of the next calls of score(), which must outlive these. What items bring is not
  // looked at.
  virtual void set_users(const Batch& users) = 0;

  // Writes the logits of all items, one column each, with users from `first` on, one row each; on
  // all threads.
  virtual void score(std::size_t first, MatrixView logits) = 0;
};

// Returns the fastest scorer for this model and these items, of which what users bring is not
// looked at. Model and items must outlive it.
//
// Where the dense features come from one side, a vector of the interaction belongs to the user or
// to the item: so do most dot products, and their share of the top MLP's first layer, which is
// linear. It is computed once for each user and once for each item, not for each pair.
std::unique_ptr<PairScorer> make_pair_scorer(LoadedModel& model, const UserPart& part,
                                             const Batch& items);

// Returns a scorer that makes an example of every pair, for any division of the input.
std::unique_ptr<PairScorer> make_plain_pair_scorer(LoadedModel& model, const UserPart& part,
                                                   const Batch& items);

}  // namespace lazydp
