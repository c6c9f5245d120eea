#include "lazydp/checkpoint/file_sections.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/mapped_file.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/export/safetensors.h"

namespace lazydp {

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

}  // namespace lazydp
