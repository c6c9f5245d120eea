#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

// Every ordered pair of two examples, by definition.
double auc_of_all_pairs(const std::vector<double>& p) {
  double right = 0.0;
  double all = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = 0; j < p.size(); ++j) {
      if (i == j) continue;
      const double weight = p[i] * (1.0 - p[j]);
      all += weight;
      if (p[i] > p[j]) right += weight;
      if (p[i] == p[j]) right += 0.5 * weight;
    }
  }
  return right / all;
}

TEST(BayesScores, AucIsThatOfAllPairsTiesIncluded) {
  RandomStream random(Seed::fixed(1), Purpose::public_data, 99, 1);
  std::vector<double> p(800);
  for (std::size_t i = 0; i < 400; ++i) p[i] = random.uniform();
  for (std::size_t i = 400; i < 800; ++i) p[i] = static_cast<double>(random.below(5)) / 4.0;
  EXPECT_NEAR(bayes_scores(p).auc, auc_of_all_pairs(p), 1e-12);
}

TEST(BayesScores, CertaintyIsPerfectAndIgnoranceIsNot) {
  const std::vector<double> certain = {0.0, 1.0, 1.0, 0.0};
  EXPECT_EQ(bayes_scores(certain).auc, 1.0);
  EXPECT_EQ(bayes_scores(certain).logloss, 0.0);
  const std::vector<double> ignorant(10, 0.5);
  EXPECT_DOUBLE_EQ(bayes_scores(ignorant).auc, 0.5);
  EXPECT_DOUBLE_EQ(bayes_scores(ignorant).logloss, std::log(2.0));
}

TEST(BayesScores, LoglossIsTheMeanEntropy) {
  const std::vector<double> p = {0.1, 0.7};
  const auto entropy = [](double x) { return -x * std::log(x) - (1 - x) * std::log(1 - x); };
  EXPECT_DOUBLE_EQ(bayes_scores(p).logloss, (entropy(0.1) + entropy(0.7)) / 2);
}

}  // namespace
}  // namespace lazydp
