// Norms of units' gradients, against gradients that are formed in double precision; and what a unit
// moves the sum by, through the product that is applied.

#include "lazydp/clip/unit_norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "lazydp/clip/gradient_method.h"
#include "tests/support/small_world.h"

namespace lazydp {
namespace {

double norm_of(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

void fill(Matrix& m, std::mt19937& rng, float scale = 1.0f) {
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < m.rows() * m.cols(); ++i) m.data()[i] = scale * normal(rng);
}

double length(std::span<const float> row) {
  return norm_of({row.begin(), row.end()});
}

struct Layer {
  Matrix inputs;
  Matrix gradients;

  LayerTrace trace() { return {inputs.view(), gradients.view(), 0}; }
};

// Expects the bound to be above the true norm, and no further above than it says.
void expect_bound(double squared_bound, const std::vector<double>& sum, double terms) {
  const double bound = std::sqrt(squared_bound);
  EXPECT_GE(bound, norm_of(sum));
  EXPECT_LE(bound, (norm_of(sum) + kRounding * terms) * (1.0 + 1e-5) + 1e-5 * terms);
}

TEST(UnitNorms, OfALayerAreThoseOfTheFormedSum) {
  std::mt19937 rng(1);
  for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{40, 60}, {3, 5}, {70, 1}}) {
    for (std::size_t size = 1; size <= 9; ++size) {
      Layer layer{Matrix(size + 4, in), Matrix(size + 4, out)};
      fill(layer.inputs, rng);
      fill(layer.gradients, rng);
      const UnitExamples unit{2, 2 + size};
      std::vector<double> weight(in * out, 0.0);
      std::vector<double> bias(out, 0.0);
      double weight_terms = 0.0;
      double bias_terms = 0.0;
      for (std::size_t i = unit.begin; i < unit.end; ++i) {
        const auto x = layer.inputs.row(i);
        const auto d = layer.gradients.row(i);
        for (std::size_t o = 0; o < out; ++o) {
          bias[o] += d[o];
          for (std::size_t j = 0; j < in; ++j) weight[o * in + j] += double{d[o]} * double{x[j]};
        }
        weight_terms += length(x) * length(d);
        bias_terms += length(d);
      }
      const double expected = std::hypot(norm_of(weight) + kRounding * weight_terms,
                                         norm_of(bias) + kRounding * bias_terms);
      UnitNorms norms;
      EXPECT_NEAR(std::sqrt(norms.squared_layer(layer.trace(), unit)), expected, 2e-6 * expected)
          << in << " x " << out << ", " << size << " examples";
    }
  }
}

TEST(UnitNorms, OfATableMergeRowsOverAllLookUpsOfTheUnit) {
  std::mt19937 rng(2);
  constexpr std::size_t kDim = 6;
  for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
    for (std::size_t size = 1; size <= 9; ++size) {
      Bags bags;
      for (std::size_t i = 0; i < size + 2; ++i) {  // repeats are common, and empty bags
        for (auto k = rng() % 5; k > 0; --k) bags.ids.push_back(static_cast<RowId>(rng() % 7));
        bags.offsets.push_back(bags.ids.size());
      }
      Matrix gradients(size + 2, kDim);
      fill(gradients, rng);
      const UnitExamples unit{1, 1 + size};
      std::map<RowId, std::vector<double>> rows;
      std::map<RowId, double> terms;
      for (std::size_t i = unit.begin; i < unit.end; ++i) {
        for (const RowId id : bags.of(i)) {
          const double a = mode == Pooling::mean ? 1.0 / static_cast<double>(bags.length(i)) : 1.0;
          rows.try_emplace(id, kDim, 0.0);
          for (std::size_t j = 0; j < kDim; ++j) rows[id][j] += a * double{gradients.row(i)[j]};
          terms[id] += a * length(gradients.row(i));
        }
      }
      double expected = 0.0;
      for (const auto& [id, row] : rows) {
        expected += std::pow(norm_of(row) + kRounding * terms[id], 2.0);
      }
      UnitNorms norms;
      EXPECT_NEAR(norms.squared_table(bags, mode, gradients.view(), unit), expected,
                  1e-5 * expected);
    }
  }
}

TEST(UnitNorms, AreAboveTheTruthWhereTermsCancel) {
  std::mt19937 rng(3);
  for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{64, 48}, {6, 5}}) {
    for (const float scale : {1.0f, 1e2f, 1e4f, 1e6f}) {
      Layer layer{Matrix(8, in), Matrix(8, out)};
      fill(layer.inputs, rng, scale);
      fill(layer.gradients, rng);
      for (std::size_t i = 0; i < 8; i += 2) {  // x dᵀ - (x + something small) dᵀ
        for (std::size_t j = 0; j < in; ++j) {
          layer.inputs.row(i + 1)[j] = layer.inputs.row(i)[j] * (1.0f + 1e-6f * float(rng() % 9));
        }
        for (std::size_t o = 0; o < out; ++o) {
          layer.gradients.row(i + 1)[o] = -layer.gradients.row(i)[o];
        }
      }
      std::vector<double> sum(in * out + out, 0.0);
      double terms = 0.0;
      for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t o = 0; o < out; ++o) {
          for (std::size_t j = 0; j < in; ++j) {
            sum[o * in + j] += double{layer.gradients.row(i)[o]} * double{layer.inputs.row(i)[j]};
          }
          sum[in * out + o] += layer.gradients.row(i)[o];
        }
        terms += length(layer.gradients.row(i)) * (length(layer.inputs.row(i)) + 1.0);
      }
      UnitNorms norms;
      expect_bound(norms.squared_layer(layer.trace(), {0, 8}), sum, terms);
    }
  }
}

// A model that is nothing but its tape: one layer and one table, whose inputs and gradients the
// test chooses.
class TapeModel final : public Model {
 public:
  TapeModel(Matrix inputs, Matrix gradients, Matrix pooled)
      : given_inputs_(std::move(inputs)),
        given_gradients_(std::move(gradients)),
        given_pooled_(std::move(pooled)),
        parameters_(given_gradients_.cols() * (given_inputs_.cols() + 1)) {}

  std::vector<NamedTensor> layout() const override { return {}; }
  std::span<float> parameters() override { return parameters_; }
  void initialise(const std::function<double()>&) override {}
  std::span<const MatrixView> begin_batch(std::size_t) override { return {}; }
  void begin_forward(const Batch&) override {}
  void forward(const Batch&) override {}
  std::span<const float> logits() const override { return {}; }
  std::span<const float> losses() const override { return {}; }

  const Tape& backward(const Batch& batch, std::span<const float> weight) override {
    for (const auto& [from, to] : {std::pair(&given_inputs_, &inputs_),
                                   {&given_gradients_, &gradients_},
                                   {&given_pooled_, &pooled_}}) {
      to->reshape(batch.size, from->cols());
      for (std::size_t i = 0; i < batch.size; ++i) {
        const float w = weight.empty() ? 1.0f : weight[i];
        for (std::size_t j = 0; j < from->cols(); ++j) {
          const float scaled = from == &given_inputs_ ? from->row(i)[j] : w * from->row(i)[j];
          to->row(i)[j] = w == 0.0f ? 0.0f : scaled;
        }
      }
    }
    tape_.layers = {{inputs_.view(), gradients_.view(), 0}};
    tape_.pooled_gradients = {pooled_.view()};
    return tape_;
  }

 private:
  Matrix given_inputs_, given_gradients_, given_pooled_;
  Matrix inputs_, gradients_, pooled_;
  std::vector<float> parameters_;
  Tape tape_;
};

constexpr RowId kRows = 5;

// The examples of some units: numbers for a tape, and bags.
struct Units {
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t dim = 4;
  std::vector<std::vector<float>> inputs = {}, gradients = {}, pooled = {};
  std::vector<std::vector<RowId>> bags = {};
  std::vector<std::size_t> starts = {0};

  // Adds a unit whose terms cancel in pairs, up to a part `left` of them.
  void add(std::mt19937& rng, std::size_t pairs, float scale, float left) {
    std::normal_distribution<float> normal;
    const auto random = [&](std::size_t n, float by) {
      std::vector<float> values(n);
      for (float& value : values) value = by * normal(rng);
      return values;
    };
    const auto nearly_minus = [&](std::vector<float> values) {
      for (float& value : values) value *= -1.0f - left * normal(rng);
      return values;
    };
    for (std::size_t p = 0; p < pairs; ++p) {
      inputs.push_back(random(in, scale));
      inputs.push_back(nearly_minus(inputs.back()));
      for (float& value : inputs.back()) value = -value;
      gradients.push_back(random(out, 1.0f));
      gradients.push_back(nearly_minus(gradients.back()));
      pooled.push_back(random(dim, scale));
      pooled.push_back(nearly_minus(pooled.back()));
      for (int i = 0; i < 2; ++i) bags.push_back({static_cast<RowId>(p) % kRows, 1, 1});
    }
    starts.push_back(inputs.size());
  }

  // The sum of the clipped gradients of all units but `without`, through the product that training
  // applies; layer, then table.
  std::vector<double> sum(ClipMethod method, double clip, std::size_t without = SIZE_MAX) const {
    std::vector<std::size_t> chosen;
    Batch batch;
    batch.bags.resize(1);
    batch.unit_starts = {0};
    for (std::size_t u = 0; u + 1 < starts.size(); ++u) {
      if (u == without) continue;
      for (std::size_t i = starts[u]; i < starts[u + 1]; ++i) {
        chosen.push_back(i);
        batch.bags[0].ids.insert(batch.bags[0].ids.end(), bags[i].begin(), bags[i].end());
        batch.bags[0].offsets.push_back(batch.bags[0].ids.size());
      }
      batch.unit_starts.push_back(chosen.size());
    }
    batch.size = chosen.size();
    const auto matrix = [&](const std::vector<std::vector<float>>& rows, std::size_t cols) {
      Matrix m(chosen.size(), cols);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        std::ranges::copy(rows[chosen[i]], m.row(i).begin());
      }
      return m;
    };
    TapeModel model(matrix(inputs, in), matrix(gradients, out), matrix(pooled, dim));
    Gradient gradient;
    StageClock stages;
    make_gradient_method(method, Pooling::sum, std::size_t{1} << 24)
        ->compute(model, batch, clip, gradient, stages);
    std::vector<double> result(gradient.dense.begin(), gradient.dense.end());
    Table table(0, kRows, dim);
    add_gradient(table, gradient.tables[0], 1.0f, {});
    result.insert(result.end(), table.row(0).data(), table.row(0).data() + kRows * dim);
    return result;
  }
};

constexpr ClipMethod kClipping[] = {ClipMethod::materialize, ClipMethod::reweight,
                                    ClipMethod::ghost};

// Terms of a unit that cancel are longer than what is left of them by up to six orders of
// magnitude: neither a norm from pairs in single precision nor one without a margin keeps this.
TEST(UnitClipping, AUnitMovesTheSumByAtMostTheClipNorm) {
  constexpr double kClip = 0.7;
  std::mt19937 rng(4);
  for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{96, 64}, {5, 4}, {30, 1}}) {
    for (const float scale : {1.0f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f}) {
      for (const float left : {1.0f, 1e-3f, 1e-5f, 1e-7f, 0.0f}) {
        Units units{.in = in, .out = out};
        for (std::size_t pairs = 1; pairs <= 9; ++pairs) {
          units.add(rng, pairs, scale, left);
          units.add(rng, 1, 1.0f, 1.0f);
        }
        for (const ClipMethod method : kClipping) {
          const std::vector<double> all = units.sum(method, kClip);
          for (const std::size_t u :
               {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{17}}) {
            std::vector<double> moved = units.sum(method, kClip, u);
            for (std::size_t j = 0; j < moved.size(); ++j) moved[j] = all[j] - moved[j];
            EXPECT_LE(norm_of(moved), kClip) << "method " << int(method) << " unit " << u
                                             << " scale " << scale << " left " << left;
          }
        }
      }
    }
  }
}

TEST(UnitClipping, UnitsThatDoNotCancelAreClippedToTheClipNorm) {
  constexpr double kClip = 0.7;
  std::mt19937 rng(5);
  Units units{.in = 20, .out = 10};
  units.add(rng, 4, 1.0f, 1.0f);
  for (const ClipMethod method : kClipping) {
    EXPECT_GE(norm_of(units.sum(method, kClip)), 0.99 * kClip);
  }
}

TEST(UnitClipping, OneFactorServesAWholeUnit) {
  std::mt19937 rng(6);
  Units units{.in = 20, .out = 10};
  units.add(rng, 3, 1.0f, 1.0f);
  const std::vector<double> unclipped = units.sum(ClipMethod::none, 1.0);
  for (const ClipMethod method : kClipping) {
    const std::vector<double> clipped = units.sum(method, 0.1);
    const double factor = norm_of(clipped) / norm_of(unclipped);
    for (std::size_t j = 0; j < clipped.size(); ++j) {
      EXPECT_NEAR(clipped[j], factor * unclipped[j], 1e-5) << "method " << int(method);
    }
  }
}

TEST(UnitClipping, AUnitThatIsNotFiniteIsLeftOutWhole) {
  std::mt19937 rng(7);
  Units units{.in = 20, .out = 10};
  for (int u = 0; u < 4; ++u) units.add(rng, 3, 1.0f, 1.0f);
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
    Units poisoned = units;
    poisoned.inputs[8][3] = poison;  // the second unit's third example
    for (const ClipMethod method : kClipping) {
      // Rounding aside: a library may add up a batch of another size in another order.
      const std::vector<double> sum = poisoned.sum(method, 0.3);
      const std::vector<double> without = units.sum(method, 0.3, 1);
      ASSERT_EQ(sum.size(), without.size());
      for (std::size_t i = 0; i < sum.size(); ++i) {
        EXPECT_NEAR(sum[i], without[i], 1e-6)
            << "method " << int(method) << " poison " << poison << " number " << i;
      }
    }
  }
}

}  // namespace
}  // namespace lazydp
