#pragma once
// Kolmogorov and Smirnov's test: do these numbers come from a standard normal distribution?

#include <vector>

namespace lazydp::paper {

struct KolmogorovTest {
  double distance = 0.0;     // between the distributions, at most 1
  double probability = 0.0;  // of one as large or larger, if they do
};

KolmogorovTest against_normal(std::vector<double> values);

}  // namespace lazydp::paper
