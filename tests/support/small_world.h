#pragma once
// A small DLRM and synthetic data with every awkward case: repeated ids, empty bags, empty batches,
// a table of one row.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/data/samplers.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/dlrm.h"

namespace lazydp::oracle {

inline ModelShape small_shape(std::vector<RowId> rows, Pooling mode = Pooling::sum) {
  ModelShape shape;
  shape.name = "test";
  shape.table_rows = std::move(rows);
  shape.dim = 4;
  shape.bottom = {3, 5, 4};
  shape.top = {6, 1};
  shape.mode = mode;
  return shape;
}

// Examples are drawn once and kept. Bags hold up to four ids and often repeat one.
class MadeUpData : public Dataset {
 public:
  MadeUpData(const ModelShape& shape, std::size_t examples, unsigned seed)
      : features_(shape.dense_features()), rows_(shape.table_rows) {
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < examples; ++i) {
      Example e;
      for (std::size_t j = 0; j < features_; ++j) e.dense.push_back(normal(rng));
      e.label = static_cast<float>(rng() % 2);
      for (const RowId rows : rows_) {
        std::vector<RowId> bag;
        for (auto k = rng() % 4; k > 0; --k) {
          bag.push_back(static_cast<RowId>(rng() % static_cast<unsigned long>(rows)));
          if (rng() % 3 == 0) bag.push_back(bag.back());
        }
        e.bags.push_back(std::move(bag));
      }
      examples_.push_back(std::move(e));
    }
  }

  std::uint64_t size() const override { return examples_.size(); }
  std::size_t dense_features() const override { return features_; }
  std::vector<RowId> table_rows() const override { return rows_; }
  void read(std::span<const ExampleId> ids, Batch& batch) const override {
    batch.size = ids.size();
    batch.dense.reshape(ids.size(), features_);
    batch.labels.clear();
    batch.bags.resize(rows_.size());
    for (Bags& bags : batch.bags) bags.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Example& e = examples_[ids[i]];
      std::ranges::copy(e.dense, batch.dense.row(i).begin());
      batch.labels.push_back(e.label);
      for (std::size_t k = 0; k < rows_.size(); ++k) {
        Bags& bags = batch.bags[k];
        bags.ids.insert(bags.ids.end(), e.bags[k].begin(), e.bags[k].end());
        bags.offsets.push_back(bags.ids.size());
      }
    }
  }

  // Makes one example's first feature this value.
  void poison(std::size_t example, float value) { examples_[example].dense[0] = value; }

 private:
  struct Example {
    std::vector<float> dense;
    float label = 0.0f;
    std::vector<std::vector<RowId>> bags;
  };
  std::size_t features_;
  std::vector<RowId> rows_;
  std::vector<Example> examples_;
};

// Made-up units: of up to nine examples, and some examples that are units of their own.
inline std::vector<std::uint64_t> made_up_units(std::size_t examples) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < examples; ++i) keys.push_back(i * i % 11);
  return keys;
}

// Tables, model and data of one run.
struct World {
  ModelShape shape;
  Seed seed;
  MadeUpData data;
  PrivacyUnits units;
  std::unique_ptr<Sampler> sampler;
  Dlrm model;
  std::vector<Table> tables;

  // examples_per_unit 0: every example is a unit.
  World(const ModelShape& s, std::uint64_t key, double rate, std::size_t examples = 40,
        std::uint64_t examples_per_unit = 0)
      : shape(s),
        seed(Seed::fixed(key)),
        data(s, examples, 77),
        units(made_up_units(examples)),
        sampler(examples_per_unit > 0
                    ? make_unit_sampler(seed, units, rate, "a person", examples_per_unit)
                    : make_poisson_sampler(seed, examples, rate)),
        model(s) {
    std::mt19937 rng(5);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    model.initialise([&] { return uniform(rng); });
    for (std::size_t k = 0; k < s.table_rows.size(); ++k) {
      tables.emplace_back(static_cast<TableId>(k), s.table_rows[k], s.dim);
      initialise(tables.back(), Seed::fixed(6));
    }
  }

  // Every parameter: dense ones, then the tables'.
  std::vector<float> weights() {
    std::vector<float> out(model.parameters().begin(), model.parameters().end());
    for (Table& table : tables) {
      const float* first = table.row(0).data();
      out.insert(out.end(), first, first + table.bytes() / sizeof(float));
    }
    return out;
  }
};

template <class A, class B>
double distance(const A& a, const B& b) {
  double worst = a.size() == b.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  }
  return worst;
}

}  // namespace lazydp::oracle
