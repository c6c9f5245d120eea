#include "lazydp/audit/canary_crowd.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/data/batch_shape.h"

namespace lazydp {
namespace {

constexpr std::size_t kTimes = 32;  // that a canary names its row

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
