#include "lazydp/train/canary.h"

#include <algorithm>

namespace lazydp {
namespace {

constexpr RowId kRows = 8;
constexpr std::size_t kRepeats = 64;

}  // namespace

ModelShape canary_shape() {
  ModelShape shape;
  shape.name = "canary";
  shape.table_rows = {kRows, kRows};
  shape.dim = 4;
  shape.bottom = {2, 4};
  shape.top = {4, 1};
  return shape;
}

RowId canary_row() {
  return kRows - 1;
}

CanaryData::CanaryData(Canary canary, Presence presence) {
  for (RowId i = 0; i + 1 < static_cast<RowId>(kCanaryExamples); ++i) {
    const float sign = i % 2 == 0 ? 1.0f : -1.0f;
    examples_.push_back({.dense = {sign, 0.5f}, .label = static_cast<float>(i % 2), .bag = {i}});
  }
  if (presence == Presence::without) return;
  const std::size_t times = canary == Canary::repeated ? kRepeats : 1;
  examples_.push_back(
      {.dense = {1.0f, -1.0f}, .label = 1.0f, .bag = std::vector<RowId>(times, canary_row())});
}

std::size_t CanaryData::dense_features() const {
  return canary_shape().dense_features();
}

std::vector<RowId> CanaryData::table_rows() const {
  return canary_shape().table_rows;
}

void CanaryData::read(std::span<const ExampleId> ids, Batch& batch) const {
  batch.size = ids.size();
  batch.dense.reshape(ids.size(), dense_features());
  batch.labels.clear();
  batch.bags.resize(canary_shape().tables());
  for (Bags& bags : batch.bags) bags.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Example& example = examples_[ids[i]];
    std::ranges::copy(example.dense, batch.dense.row(i).begin());
    batch.labels.push_back(example.label);
    for (Bags& bags : batch.bags) {
      bags.ids.insert(bags.ids.end(), example.bag.begin(), example.bag.end());
      bags.offsets.push_back(bags.ids.size());
    }
  }
}

}  // namespace lazydp
