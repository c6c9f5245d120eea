#include "lazydp/data/example_encoder.h"

#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/data/file/read_records.h"

namespace lazydp {

bool is_read(Role role) {
  return role != Role::label && role != Role::ignore;
}

ExampleEncoder::ExampleEncoder(Schema schema)
    : schema_(std::move(schema)),
      encoders_(ColumnEncoder::all(schema_)),
      layout_(schema_),
      records_(layout_) {}

bool ExampleEncoder::add(std::span<const TextValue> values, std::string& why) {
  check(values.size() == encoders_.size(), "one value for each column");
  records_.begin();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_read(encoders_[i].column().role)) continue;
    const ColumnEncoder& encoder = encoders_[i];
    const bool used = values[i] ? encoder.encode(*values[i], records_, why)
                                : encoder.encode_missing(records_, why);
    if (!used) return false;
  }
  records_.end();
  return true;
}

void ExampleEncoder::take(Batch& batch) {
  std::vector<const std::byte*> records(records_.size());
  for (std::size_t i = 0; i < records.size(); ++i) records[i] = records_[i].data();
  constexpr auto kAnyNumber = static_cast<std::size_t>(-1);
  check(shape_batch(layout_, records, kAnyNumber, batch), "any number of values is allowed");
  batch.unit_starts.clear();
  for (std::size_t i = 0; i < records.size(); ++i) {
    check(copy_record(layout_, records[i], i, batch), "an encoder's rows are in range");
  }
  records_.clear();
}

}  // namespace lazydp
