#pragma once
// An independent DLRM, written plainly and in double precision, with gradients by differences. It
// shares no code with the library.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lazydp::oracle {

struct PlainExample {
  std::vector<double> dense;
  double label = 0.0;
  std::vector<std::vector<std::int64_t>> bags;
};

struct PlainDlrm {
  std::vector<std::size_t> bottom;  // widths
  std::vector<std::size_t> top;     // widths after the interaction
  std::size_t dim = 0;
  bool mean = false;
  std::vector<std::int64_t> rows;  // of each table
  std::vector<double> weights;     // bottom layers, top layers (W then b each), tables

  std::size_t interaction() const {
    const std::size_t n = rows.size();
    return dim + n * (n + 1) / 2;
  }
  std::size_t dense_count() const {
    std::size_t n = 0;
    for (std::size_t l = 1; l < bottom.size(); ++l) n += bottom[l] * (bottom[l - 1] + 1);
    std::size_t in = interaction();
    for (const std::size_t out : top) {
      n += out * (in + 1);
      in = out;
    }
    return n;
  }
  std::size_t table_start(std::size_t table) const {
    std::size_t at = dense_count();
    for (std::size_t k = 0; k < table; ++k) at += static_cast<std::size_t>(rows[k]) * dim;
    return at;
  }

  double loss(const PlainExample& e) const {
    std::size_t at = 0;
    const auto layer = [&](const std::vector<double>& x, std::size_t out, bool relu) {
      std::vector<double> y(out);
      for (std::size_t o = 0; o < out; ++o) {
        double sum = weights[at + out * x.size() + o];
        for (std::size_t i = 0; i < x.size(); ++i) sum += weights[at + o * x.size() + i] * x[i];
        y[o] = relu && sum < 0.0 ? 0.0 : sum;
      }
      at += out * (x.size() + 1);
      return y;
    };
    std::vector<double> x = e.dense;
    for (std::size_t l = 1; l < bottom.size(); ++l) x = layer(x, bottom[l], true);
    std::vector<std::vector<double>> vectors = {x};
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::vector<double> pooled(dim, 0.0);
      for (const std::int64_t id : e.bags[k]) {
        for (std::size_t j = 0; j < dim; ++j) {
          pooled[j] += weights[table_start(k) + static_cast<std::size_t>(id) * dim + j];
        }
      }
      if (mean && !e.bags[k].empty()) {
        for (double& p : pooled) p /= static_cast<double>(e.bags[k].size());
      }
      vectors.push_back(pooled);
    }
    std::vector<double> z = vectors[0];
    for (std::size_t a = 0; a < vectors.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        double product = 0.0;
        for (std::size_t j = 0; j < dim; ++j) product += vectors[a][j] * vectors[b][j];
        z.push_back(product);
      }
    }
    for (std::size_t l = 0; l < top.size(); ++l) z = layer(z, top[l], l + 1 < top.size());
    return std::log1p(std::exp(-(2.0 * e.label - 1.0) * z[0]));
  }

  // By central differences over every weight. Those of rows the example does not name are zero.
  std::vector<double> gradient(const PlainExample& e) {
    std::vector<double> g(weights.size(), 0.0);
    const auto differentiate = [&](std::size_t i) {
      constexpr double kStep = 1e-5;
      const double before = weights[i];
      weights[i] = before + kStep;
      const double up = loss(e);
      weights[i] = before - kStep;
      g[i] = (up - loss(e)) / (2.0 * kStep);
      weights[i] = before;
    };
    for (std::size_t i = 0; i < dense_count(); ++i) differentiate(i);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (const std::int64_t id : e.bags[k]) {
        for (std::size_t j = 0; j < dim; ++j) {
          differentiate(table_start(k) + static_cast<std::size_t>(id) * dim + j);
        }
      }
    }
    return g;
  }
};

}  // namespace lazydp::oracle
