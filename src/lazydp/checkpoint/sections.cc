#include "lazydp/checkpoint/sections.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/mapped_file.h"
#include "lazydp/base/text/json.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/export/safetensors.h"

namespace lazydp {

namespace {

bool cut(const Table& table) {
  return table.rows() != table.whole_rows();
}

// Returns the rows that two ranges share; an empty range if none.
RowRange common(RowRange a, RowRange b) {
  const RowId first = std::max(a.first, b.first);
  const RowId end = std::min(a.first + a.count, b.first + b.count);
  return {first, std::max<RowId>(0, end - first)};
}

// Returns a section's range, in an array of `whole` rows. A section that names no range holds all
// of them.
RowRange range_of(const Json& section, RowId whole) {
  if (!section.contains("first")) return {0, whole};
  return {natural<RowId>(section.at("first")), natural<RowId>(section.at("rows"))};
}

UserError another_shape() {
  return UserError("the checkpoint is of a model of another shape, or of another algorithm");
}

}  // namespace

std::vector<Section> row_sections(const TrainingState& state, Settled settled, Which which) {
  std::vector<Section> sections;
  if (which == Which::common) {
    const std::span<float> dense = state.model.parameters();
    sections.push_back({"dense", {0, 1}, 1, std::as_writable_bytes(dense)});
  }
  for (std::size_t k = 0; k < state.tables.size(); ++k) {
    Table& table = state.tables[k];
    if (cut(table) != (which == Which::own)) continue;
    const std::string number = std::to_string(k);
    const RowRange rows = {table.first_row(), table.rows()};
    const std::span<float> weights = {table.weights(),
                                      static_cast<std::size_t>(table.rows()) * table.dim()};
    sections.push_back(
        {"table." + number, rows, table.whole_rows(), std::as_writable_bytes(weights)});
    const auto add = [&](std::string_view name, std::span<std::byte> bytes) {
      if (bytes.empty()) return;
      sections.push_back({std::string(name) + "." + number, rows, table.whole_rows(), bytes});
    };
    for (const TableState& remembered : state.table_optimizer.state(k)) {
      add(remembered.name, std::as_writable_bytes(remembered.values));
    }
    if (settled == Settled::no) {
      add("history", std::as_writable_bytes(state.table_optimizer.settled_through(k)));
    }
  }
  return sections;
}

Json json_of(std::span<const Section> sections) {
  Json json = Json::array();
  for (const Section& section : sections) {
    Json described = {{"name", section.name}, {"bytes", section.bytes.size()}};
    if (section.rows.count != section.whole) {
      described["first"] = section.rows.first;
      described["rows"] = section.rows.count;
    }
    json.push_back(std::move(described));
  }
  return json;
}

void write_rows(SealedWriter& file, std::span<const Section> sections) {
  for (const Section& section : sections) file.write(section.bytes);
}

SectionReader::SectionReader(const TrainingState& state, Settled settled) {
  for (const Which which : {Which::common, Which::own}) {
    for (Section& section : row_sections(state, settled, which)) {
      places_.push_back({std::move(section)});
    }
  }
}

std::size_t SectionReader::place_of(const Json& section) const {
  const auto place = std::ranges::find_if(places_, [&](const Place& p) {
    return p.section.name == section.at("name").get<std::string>();
  });
  if (place == places_.end()) throw another_shape();
  const Section& here = place->section;
  const RowRange there = range_of(section, here.whole);
  const auto bytes = natural<std::uint64_t>(section.at("bytes"));
  const bool same_rows = there.first >= 0 && there.count >= 0 && there.first <= here.whole &&
                         there.count <= here.whole - there.first;
  // A row takes as many bytes in the file as in memory.
  const bool same_width = here.rows.count == 0 ||
                          bytes == here.bytes.size() / static_cast<std::uint64_t>(here.rows.count) *
                                       static_cast<std::uint64_t>(there.count);
  if (!same_rows || !same_width) throw another_shape();
  return static_cast<std::size_t>(place - places_.begin());
}

bool SectionReader::wants(const Json& json) const {
  return std::ranges::any_of(json, [&](const Json& section) {
    const Section& here = places_[place_of(section)].section;
    return common(here.rows, range_of(section, here.whole)).count > 0;
  });
}

void SectionReader::read(SealedReader& file, const Json& json) {
  for (const Json& section : json) {
    Place& place = places_[place_of(section)];
    const Section& here = place.section;
    const RowRange there = range_of(section, here.whole);
    const RowRange both = common(here.rows, there);
    const auto bytes = natural<std::uint64_t>(section.at("bytes"));
    if (both.count == 0) {
      file.skip(bytes);
      continue;
    }
    const std::uint64_t row = bytes / static_cast<std::uint64_t>(there.count);
    const auto before = static_cast<std::uint64_t>(both.first - there.first) * row;
    const auto wanted = static_cast<std::uint64_t>(both.count) * row;
    file.skip(before);
    file.read(
        here.bytes.subspan(static_cast<std::size_t>(both.first - here.rows.first) * row, wanted));
    file.skip(bytes - before - wanted);
    place.received += both.count;
  }
}

void SectionReader::require_all() const {
  for (const Place& place : places_) {
    if (place.received != place.section.rows.count) throw another_shape();
  }
}

namespace {

constexpr std::size_t kSteps = std::size_t{1} << 18;  // steps at a time

// Calls visit(rows) with those rows of a table that were ever needed, in order, some at a time.
template <class Visit>
void for_rows_held(const RowFile& file, RowId rows, Visit&& visit) {
  std::vector<RowId> some;
  for (RowId row = 0; row < rows; ++row) {
    if (file.holds(row)) some.push_back(row);
    if (some.size() == kSteps || (row + 1 == rows && !some.empty())) {
      visit(some);
      some.clear();
    }
  }
}

void write_history(SealedWriter& out, const RowFile& file, std::span<const Step> history) {
  std::vector<Step> steps;
  for_rows_held(file, static_cast<RowId>(history.size()), [&](const std::vector<RowId>& rows) {
    steps.clear();
    for (const RowId row : rows) steps.push_back(history[static_cast<std::size_t>(row)]);
    out.write(std::as_bytes(std::span(steps)));
  });
}

void read_history(SealedReader& in, const RowFile& file, Step first, std::span<Step> history) {
  std::ranges::fill(history, first);
  std::vector<Step> steps;
  for_rows_held(file, static_cast<RowId>(history.size()), [&](const std::vector<RowId>& rows) {
    steps.resize(rows.size());
    in.read(std::as_writable_bytes(std::span(steps)));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      history[static_cast<std::size_t>(rows[i])] = steps[i];
    }
  });
}

// Calls one of two visitors for every section, in the order of the file.
template <class Dense, class Steps>
void for_each_section(const TrainingState& state, Settled settled, Dense&& dense, Steps&& steps) {
  dense(state.model.parameters());
  if (settled == Settled::yes) return;
  for (std::size_t k = 0; k < state.tables.size(); ++k) {
    const std::span<Step> history = state.table_optimizer.settled_through(k);
    if (!history.empty()) steps(state.storage.files().file(k), k, history);
  }
}

}  // namespace

Json sections_of(const TrainingState& state, Settled settled) {
  Json sections = Json::array();
  const auto add = [&sections](const std::string& name, std::size_t bytes) {
    sections.push_back({{"name", name}, {"bytes", bytes}});
  };
  for_each_section(
      state, settled, [&](std::span<float> dense) { add("dense", dense.size_bytes()); },
      [&](const RowFile& rows, std::size_t k, std::span<const Step>) {
        add("history." + std::to_string(k), static_cast<std::size_t>(rows.held()) * sizeof(Step));
      });
  return sections;
}

void write_sections(SealedWriter& file, const TrainingState& state, Settled settled) {
  for_each_section(
      state, settled, [&](std::span<float> dense) { file.write(std::as_bytes(dense)); },
      [&](const RowFile& rows, std::size_t, std::span<const Step> history) {
        write_history(file, rows, history);
      });
}

void read_sections(SealedReader& file, const TrainingState& state, Settled settled, Step first) {
  for_each_section(
      state, settled, [&](std::span<float> dense) { file.read(std::as_writable_bytes(dense)); },
      [&](const RowFile& rows, std::size_t, std::span<Step> history) {
        read_history(file, rows, first, history);
      });
}

TableFiles::FirstValues rows_of_file(const std::string& path, const SettledRows& rows) {
  const SafetensorsFile header(path);
  if (header.digest() != rows.blake2b) {
    throw IoError(path + " is damaged: it is not the file that was written");
  }
  const auto file = std::make_shared<const MappedFile>(path, MappedFile::Access::random);
  return [file, tensors = header.tensors()](std::size_t k) -> RowFile::FirstValues {
    const auto found = std::ranges::find(tensors, table_name(k), &SafetensorsFile::Tensor::name);
    if (found == tensors.end()) throw UserError(file->path() + " has no " + table_name(k));
    const auto bytes = file->bytes().subspan(found->begin, found->end - found->begin);
    return [file, bytes](RowId row, std::span<float> values) {
      const std::size_t at = static_cast<std::size_t>(row) * values.size_bytes();
      check(at + values.size_bytes() <= bytes.size(), "a row within its tensor");
      std::memcpy(values.data(), bytes.data() + at, values.size_bytes());
    };
  };
}

OptimizerHead head_of(DenseOptimizer& optimizer) {
  OptimizerHead head{.rule = std::string(dense_rule_name(optimizer.rule())),
                     .steps = optimizer.steps()};
  for (const std::span<float> state : optimizer.state()) head.bytes += state.size_bytes();
  return head;
}

void write_state(SealedWriter& file, DenseOptimizer& optimizer) {
  for (const std::span<float> state : optimizer.state()) file.write(std::as_bytes(state));
}

void read_state(SealedReader& file, const OptimizerHead& there, Settled settled,
                DenseOptimizer& optimizer) {
  const OptimizerHead here = head_of(optimizer);
  if (there.rule == here.rule && there.bytes == here.bytes) {
    for (const std::span<float> state : optimizer.state()) {
      file.read(std::as_writable_bytes(state));
    }
    return optimizer.restore_steps(there.steps);
  }
  if (settled == Settled::no || there.rule == here.rule) {
    throw UserError("the checkpoint is of another optimizer of the dense weights: " + there.rule);
  }
  file.skip(there.bytes);
}

}  // namespace lazydp
