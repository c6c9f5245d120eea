#pragma once
// How well the best possible model can do, when the true probabilities are known.

#include <span>

namespace lazydp {

struct BayesScores {
  double auc = 0.0;
  double logloss = 0.0;  // nats an example
};

// What a model that knows probabilities[i] = P(label i is 1) scores, in expectation over the
// labels: nothing depends on the labels that happened to be drawn. The AUC is the ratio of the
// expected numbers of rightly ordered pairs and of all pairs of a positive and a negative; a tie
// counts half.
BayesScores bayes_scores(std::span<const double> probabilities);

}  // namespace lazydp
