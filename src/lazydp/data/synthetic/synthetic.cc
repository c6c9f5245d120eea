#include "lazydp/data/synthetic/synthetic.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/data/file/data_file_writer.h"
#include "lazydp/data/synthetic/access_law.h"

namespace lazydp {

namespace {

struct NamedData {
  std::string_view name;
  Synthetic value;
};

// The exponents of `skew` are those that give 90 % at 39,884,406 rows.
constexpr NamedData kNamed[] = {
    {"click", ClickSize::small},   {"click:large", ClickSize::large},
    {"uniform", AccessLaw{0.0}},   {"skew:36", AccessLaw{0.924}},
    {"skew:10", AccessLaw{1.029}}, {"skew:0.6", AccessLaw{1.130}},
};

// Parses all of `text` as an exponent that Zipf accepts.
std::optional<double> parse_exponent(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stop == end;
  if (!whole || !(value > 0.0 && value <= kMaxZipfExponent)) return std::nullopt;
  return value;
}

}  // namespace

Synthetic parse_synthetic(std::string_view name) {
  for (const NamedData& named : kNamed) {
    if (name == named.name) return named.value;
  }
  constexpr std::string_view kZipf = "zipf:";
  if (name.starts_with(kZipf)) {
    if (const auto exponent = parse_exponent(name.substr(kZipf.size()))) {
      return AccessLaw{*exponent};
    }
  }
  throw UserError(
      "synthetic is '" + std::string(name) +
      "'; it must be click, click:large, uniform, skew:36, skew:10, skew:0.6, or zipf:S "
      "with S above 0 and at most 10, for example zipf:1.05");
}

namespace {

constexpr std::uint64_t kExamplesAtOnce = 8192;

void encode(const Batch& batch, const RecordLayout& layout, Records& records) {
  records.clear();
  for (std::size_t i = 0; i < batch.size; ++i) {
    records.begin();
    records.set_label(batch.labels[i]);
    const auto dense = batch.dense.row(i);
    for (std::size_t j = 0; j < dense.size(); ++j) records.set_dense(j, dense[j]);
    for (std::size_t k = 0; k < layout.tables.size(); ++k) {
      const RecordLayout::TableSlot& table = layout.tables[k];
      for (const RowId row : batch.bags[k].of(i)) {
        if (table.multi) {
          records.add_value(table.place, static_cast<std::uint32_t>(row));
        } else {
          records.set_id(table.place, static_cast<std::uint32_t>(row));
        }
      }
    }
    records.end();
  }
}

}  // namespace

Schema synthetic_schema(const Dataset& data, const std::string& source, bool multi) {
  Schema schema{.source = source, .separator = "\t", .quotes = false, .trim = false};
  schema.columns.push_back(
      {.name = "label", .role = Role::label, .positive = {"1"}, .negative = {"0"}});
  for (std::size_t i = 1; i <= data.dense_features(); ++i) {
    schema.columns.push_back(
        {.name = "I" + std::to_string(i), .role = Role::dense, .transform = Transform::none});
  }
  for (const RowId rows : data.table_rows()) {
    schema.columns.push_back(
        {.name = "C" + std::to_string(schema.columns.size() - data.dense_features()),
         .role = multi ? Role::multi : Role::categorical,
         .rows = static_cast<std::uint64_t>(rows),
         .separator = multi ? "|" : ""});
  }
  schema.validate();
  return schema;
}

std::uint64_t write_data_file(const std::string& path, const std::string& source,
                              const std::vector<const Dataset*>& parts, std::size_t pooling) {
  check(!parts.empty(), "something to write");
  const Schema schema = synthetic_schema(*parts.front(), source, pooling > 1);
  const RecordLayout layout(schema);
  const std::size_t values = layout.multi * pooling;
  DataFileWriter writer(path, schema, layout.good_page_bytes(values));
  Records records(layout);
  Batch batch;
  std::vector<ExampleId> examples;
  for (const Dataset* part : parts) {
    for (ExampleId first = 0; first < part->size(); first += kExamplesAtOnce) {
      examples.resize(std::min(kExamplesAtOnce, part->size() - first));
      std::iota(examples.begin(), examples.end(), first);
      part->read(examples, batch);
      encode(batch, layout, records);
      writer.append(records);
    }
  }
  writer.commit();
  return writer.file_bytes();
}

}  // namespace lazydp
