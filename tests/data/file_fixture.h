#pragma once
// A small data file with every kind of column, made of plain values that tests know.

#include <string>
#include <vector>

#include "lazydp/data/file/data_file_writer.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"

namespace lazydp {

struct PlainExample {
  float label = 0.0f;
  std::vector<float> dense = {};
  std::vector<std::uint32_t> ids = {};  // of the categorical columns
  std::uint64_t key = 0;
  std::vector<std::vector<std::uint32_t>> many = {};  // of the multi columns
};

// Label, two dense columns, two categorical ones with a multi column between if asked, one key.
inline Schema plain_schema(bool multi) {
  Schema schema;
  schema.columns = {{.name = "y", .role = Role::label, .positive = {"1"}},
                    {.name = "a", .role = Role::dense},
                    {.name = "u", .role = Role::categorical, .rows = 100, .key = true},
                    {.name = "b", .role = Role::dense, .transform = Transform::none},
                    {.name = "v", .role = Role::categorical, .rows = 7}};
  if (multi) {
    schema.columns.insert(schema.columns.begin() + 3,
                          {.name = "m", .role = Role::multi, .rows = 50, .separator = "|"});
  }
  return schema;
}

// Values that follow from the number by plain arithmetic.
inline PlainExample plain_example(std::uint64_t i, bool multi) {
  PlainExample example{
      .label = i % 3 == 0 ? 1.0f : 0.0f,
      .dense = {static_cast<float>(i) * 0.5f, -static_cast<float>(i % 11)},
      .ids = {static_cast<std::uint32_t>(i * 7 % 100), static_cast<std::uint32_t>(i % 7)},
      .key = i / 4 + 1};
  if (multi) {
    example.many.resize(1);
    for (std::uint32_t j = 0; j < i % 5; ++j) {
      example.many[0].push_back(static_cast<std::uint32_t>((i + j) % 50));
    }
  }
  return example;
}

inline void add(Records& records, const PlainExample& example) {
  records.begin();
  records.set_label(example.label);
  for (std::size_t j = 0; j < example.dense.size(); ++j) records.set_dense(j, example.dense[j]);
  for (std::size_t j = 0; j < example.ids.size(); ++j) records.set_id(j, example.ids[j]);
  records.set_key(0, example.key);
  for (std::size_t j = 0; j < example.many.size(); ++j) {
    for (const std::uint32_t row : example.many[j]) records.add_value(j, row);
  }
  records.end();
}

inline void write_plain_file(const std::string& path, std::uint64_t examples, bool multi) {
  const Schema schema = plain_schema(multi);
  Records records{RecordLayout(schema)};
  for (std::uint64_t i = 0; i < examples; ++i) add(records, plain_example(i, multi));
  DataFileWriter writer(path, schema, kMinPageBytes);
  writer.append(records);
  writer.commit();
}

}  // namespace lazydp
