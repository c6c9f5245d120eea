#include "lazydp/audit/canary.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/data/batch.h"

namespace lazydp {

namespace {

constexpr RowId kRows = 8;
constexpr std::size_t kRepeats = 64;
constexpr std::size_t kExamplesOfPerson = 3;

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
  for (RowId i = 0; i + 1 < static_cast<RowId>(kCanaryUnits); ++i) {
    const float sign = i % 2 == 0 ? 1.0f : -1.0f;
    examples_.push_back({.dense = {sign, 0.5f}, .label = static_cast<float>(i % 2), .bag = {i}});
  }
  if (presence == Presence::without) return;
  const std::size_t times = canary == Canary::repeated ? kRepeats : 1;
  const std::size_t examples = canary == Canary::person ? kExamplesOfPerson : 1;
  for (std::size_t i = 0; i < examples; ++i) {
    examples_.push_back({.dense = {1.0f, -1.0f},
                         .label = 1.0f,
                         .bag = std::vector<RowId>(times, canary_row()),
                         .unit = canary == Canary::person ? 1U : 0U});
  }
}

std::size_t CanaryData::dense_features() const {
  return canary_shape().dense_features();
}

std::vector<RowId> CanaryData::table_rows() const {
  return canary_shape().table_rows;
}

std::vector<std::uint64_t> CanaryData::unit_keys() const {
  std::vector<std::uint64_t> keys;
  for (const Example& example : examples_) keys.push_back(example.unit);
  return keys;
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

namespace {

constexpr std::size_t kTimes = 32;  // how often a canary names its row

}  // namespace

ModelShape with_canary_rows(ModelShape shape, std::uint64_t canaries) {
  for (RowId& rows : shape.table_rows) rows += static_cast<RowId>(canaries);
  return shape;
}

CanaryCrowd::CanaryCrowd(const Dataset* base, const ModelShape& shape, const std::vector<bool>& in)
    : base_(base),
      others_(base == nullptr ? 0 : base->size()),
      features_(shape.dense_features()),
      first_rows_(shape.table_rows),
      rows_(with_canary_rows(shape, in.size()).table_rows) {
  for (std::uint64_t i = 0; i < in.size(); ++i) {
    if (in[i]) present_.push_back(i);
  }
}

void CanaryCrowd::read(std::span<const ExampleId> examples, Batch& batch) const {
  const auto split = std::ranges::lower_bound(examples, others_);
  const auto others = examples.first(static_cast<std::size_t>(split - examples.begin()));
  const auto canaries = examples.subspan(others.size());
  Batch read;
  shape_batch(read, 0, features_, first_rows_.size(), 1);
  if (base_ != nullptr) base_->read(others, read);

  batch.size = examples.size();
  batch.dense.reshape(examples.size(), features_);
  for (std::size_t i = 0; i < others.size(); ++i) {
    std::ranges::copy(read.dense.row(i), batch.dense.row(i).begin());
  }
  for (std::size_t i = others.size(); i < examples.size(); ++i) {
    std::ranges::fill(batch.dense.row(i), 1.0f);
  }
  batch.labels = std::move(read.labels);
  batch.bags = std::move(read.bags);
  for (const ExampleId example : canaries) {
    check(example < size(), "example within the data set");
    const auto canary = static_cast<RowId>(present_[example - others_]);
    batch.labels.push_back(1.0f);
    for (std::size_t k = 0; k < batch.bags.size(); ++k) {
      Bags& bags = batch.bags[k];
      bags.ids.insert(bags.ids.end(), kTimes, first_rows_[k] + canary);
      bags.offsets.push_back(bags.ids.size());
    }
  }
}

}  // namespace lazydp
