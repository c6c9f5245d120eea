#pragma once
// An independent recommendation model, written plainly and in double, to check the real one
// against. It shares nothing with it but the order of the parameters.

#include <cmath>
#include <cstddef>
#include <vector>

namespace lazydp::testing {

struct DlrmOracle {
  using Vector = std::vector<double>;

  std::vector<std::size_t> bottom;  // widths, input first
  std::vector<std::size_t> top;     // widths after the interaction
  Vector parameters;
  bool concatenates = false;  // whether the top sees all vectors, not only the bottom's output
  bool linear = false;  // whether the first coordinates of pooled vectors are added to the logit

  // The logit of one example.
  double logit(const Vector& dense, const std::vector<Vector>& pooled) const {
    std::size_t next = 0;
    Vector x = dense;
    for (std::size_t k = 1; k < bottom.size(); ++k) x = relu(affine(x, bottom[k], next));
    std::vector<Vector> vectors = {x};
    vectors.insert(vectors.end(), pooled.begin(), pooled.end());
    if (concatenates) {
      for (const Vector& vector : pooled) x.insert(x.end(), vector.begin(), vector.end());
    }
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        double dot = 0.0;
        for (std::size_t k = 0; k < vectors[i].size(); ++k) dot += vectors[i][k] * vectors[j][k];
        x.push_back(dot);
      }
    }
    for (std::size_t k = 0; k < top.size(); ++k) {
      x = affine(x, top[k], next);
      if (k + 1 < top.size()) x = relu(x);
    }
    double sum = x[0];
    for (const Vector& vector : pooled) sum += linear ? vector[0] : 0.0;
    return sum;
  }

  double loss(const Vector& dense, const std::vector<Vector>& pooled, double label) const {
    const double p = 1.0 / (1.0 + std::exp(-logit(dense, pooled)));
    return -label * std::log(p) - (1.0 - label) * std::log(1.0 - p);
  }

 private:
  // Takes W, then b, from parameters[next] on.
  Vector affine(const Vector& x, std::size_t out, std::size_t& next) const {
    Vector y(out, 0.0);
    for (std::size_t o = 0; o < out; ++o) {
      for (const double value : x) y[o] += parameters[next++] * value;
    }
    for (std::size_t o = 0; o < out; ++o) y[o] += parameters[next++];
    return y;
  }

  static Vector relu(Vector y) {
    for (double& value : y) value = value > 0.0 ? value : 0.0;
    return y;
  }
};

}  // namespace lazydp::testing
