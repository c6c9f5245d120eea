#pragma once
// The simplest learner, to show that a task can be learned: a weight for every id and feature.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "lazydp/data/dataset.h"

namespace lazydp {

// P(a positive scores above a negative), ties counted half, by ranks (Mann and Whitney 1947).
inline double auc(std::span<const double> scores, std::span<const float> labels) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double rank_sum = 0.0;
  double positives = 0.0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && scores[order[end]] == scores[order[i]]) ++end;
    const double rank = static_cast<double>(i + end + 1) / 2.0;
    for (; i < end; ++i) {
      if (labels[order[i]] != 1.0f) continue;
      rank_sum += rank;
      positives += 1.0;
    }
  }
  const double negatives = static_cast<double>(labels.size()) - positives;
  return (rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives);
}

// Plain stochastic gradient descent over `train`, one example at a time; the AUC on `held_out`.
inline double fit_and_score(const Dataset& train, const Dataset& held_out) {
  const auto read_all = [](const Dataset& dataset) {
    std::vector<ExampleId> examples(dataset.size());
    std::iota(examples.begin(), examples.end(), 0);
    Batch batch;
    dataset.read(examples, batch);
    return batch;
  };
  std::vector<std::vector<double>> by_id;
  for (const RowId rows : train.table_rows()) by_id.emplace_back(rows, 0.0);
  std::vector<double> by_feature(train.dense_features(), 0.0);
  double bias = 0.0;
  const auto logit = [&](const Batch& batch, std::size_t i) {
    double z = bias;
    for (std::size_t k = 0; k < by_id.size(); ++k) {
      for (const RowId id : batch.bags[k].of(i)) z += by_id[k][static_cast<std::size_t>(id)];
    }
    for (std::size_t j = 0; j < by_feature.size(); ++j) z += by_feature[j] * batch.dense.row(i)[j];
    return z;
  };
  const Batch batch = read_all(train);
  for (const double rate : {0.05, 0.03, 0.02, 0.01}) {
    for (std::size_t i = 0; i < batch.size; ++i) {
      const double error = batch.labels[i] - 1.0 / (1.0 + std::exp(-logit(batch, i)));
      bias += 0.1 * rate * error;
      for (std::size_t k = 0; k < by_id.size(); ++k) {
        for (const RowId id : batch.bags[k].of(i)) {
          by_id[k][static_cast<std::size_t>(id)] += rate * error;
        }
      }
      for (std::size_t j = 0; j < by_feature.size(); ++j) {
        by_feature[j] += 0.1 * rate * error * batch.dense.row(i)[j];
      }
    }
  }
  const Batch unseen = read_all(held_out);
  std::vector<double> scores(unseen.size);
  for (std::size_t i = 0; i < unseen.size; ++i) scores[i] = logit(unseen, i);
  return auc(scores, unseen.labels);
}

}  // namespace lazydp
