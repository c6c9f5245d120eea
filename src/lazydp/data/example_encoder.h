#pragma once
// Encodes examples that have no label yet, for a model that scores them.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/batch.h"
#include "lazydp/data/column_encoder.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// A value as text; nothing for a missing one.
using TextValue = std::optional<std::string_view>;

// Returns whether a model reads columns of this role: neither labels nor what is ignored.
bool is_read(Role role);

// Gathers examples, value by value as a data file of the schema would have them, into a batch.
class ExampleEncoder {
 public:
  explicit ExampleEncoder(Schema schema);
  ExampleEncoder(const ExampleEncoder&) = delete;  // its encoders point into its schema
  ExampleEncoder& operator=(const ExampleEncoder&) = delete;

  const Schema& schema() const { return schema_; }

  // Adds an example: one value for each column of the schema, of which those that no model reads
  // are not looked at. Returns whether all could be used; if not, nothing is added, and `why` says
  // why.
  bool add(std::span<const TextValue> values, std::string& why);

  std::size_t size() const { return records_.size(); }

  // Makes `batch` hold the examples that were added, in order and with labels of 0, and forgets
  // them.
  void take(Batch& batch);

 private:
  Schema schema_;
  std::vector<ColumnEncoder> encoders_;  // point into schema_
  RecordLayout layout_;
  Records records_;
};

}  // namespace lazydp
