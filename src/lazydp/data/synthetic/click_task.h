#pragma once
// The synthetic click task: a learnable problem of fixed difficulty, the same on every machine.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/dataset.h"

namespace lazydp {

enum class ClickSize : std::uint8_t { small, large };

// The size and difficulty of the task. They are fixed, so that results on it can be compared:
// changing a number here invalidates every AUC that was ever reported.
struct ClickShape {
  RowId rows;                 // rows of each table
  std::uint64_t train;        // number of examples
  std::uint64_t held_out;     // number of examples
  std::uint32_t with_effect;  // ranks below this have an effect of their own, N(0, 1)
  std::uint32_t with_vector;  // ranks below this also interact, by a vector N(0, 0.3^2 I)
  double scale;               // logit = scale * raw logit + shift, found once by a numerical
  double shift;               // search for a Bayes AUC of 0.80 and a third of positive labels

  static ClickShape of(ClickSize size);
};

inline constexpr std::size_t kClickTables = 8;
inline constexpr std::size_t kClickFeatures = 13;
inline constexpr double kClickZipfExponent = 1.03;  // ids are popularity ranks
inline constexpr std::uint64_t kClickSeed = 2024;   // public

// The hidden truth of the task: the probability that a synthetic user clicks.
class ClickTruth {
 public:
  explicit ClickTruth(ClickSize size);

  const ClickShape& shape() const { return shape_; }

  // Returns P(label = 1) for an example with one id for each table.
  double probability(std::span<const std::uint32_t> ids, std::span<const float> dense) const;

  // Returns the logit before it is scaled and shifted: the effects of the ids, the dot products of
  // their vectors over all pairs of tables, and the weighted features.
  double raw_logit(std::span<const std::uint32_t> ids, std::span<const float> dense) const;

 private:
  static constexpr std::size_t kVector = 4;

  ClickShape shape_;
  std::vector<double> effects_;  // tables x with_effect
  std::vector<double> vectors_;  // tables x with_vector x kVector
  std::vector<double> weights_;  // features
};

// The scores of the best possible model, which knows the true probabilities.
struct BayesScores {
  double auc = 0.0;
  double logloss = 0.0;  // nats an example
};

// Returns the expected scores, over the labels, of a model that knows probabilities[i] = P(label i
// is 1): they do not depend on the labels that happened to be drawn. The AUC is the ratio of the
// expected numbers of correctly ordered pairs and of all pairs of a positive and a negative; a tie
// counts half.
BayesScores bayes_scores(std::span<const double> probabilities);

struct ClickTask {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> held_out;
  double bayes_auc = 0.0;      // of the hidden truth on the held-out examples, in expectation over
  double bayes_logloss = 0.0;  // their labels: no model can be expected to do better
};

// Makes all examples, in parallel, and holds them in memory (85 bytes each).
ClickTask make_click_task(ClickSize size);

}  // namespace lazydp
