#include "lazydp/train/sections.h"

#include <algorithm>
#include <string>
#include <vector>

namespace lazydp {
namespace {

constexpr std::size_t kSteps = std::size_t{1} << 18;  // at a time

std::span<float> weights_of(Table& table) {
  return {table.weights(), static_cast<std::size_t>(table.rows()) * table.dim()};
}

// Calls visit(rows) on those rows of a table that were ever needed, in order, some at a time.
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

void write_history(SealedWriter& out, const RowFile& file, const History& history) {
  std::vector<Step> steps;
  for_rows_held(file, static_cast<RowId>(history.steps().size()),
                [&](const std::vector<RowId>& rows) {
                  steps.clear();
                  for (const RowId row : rows) steps.push_back(history.settled_through(row));
                  out.write(std::as_bytes(std::span(steps)));
                });
}

void read_history(SealedReader& in, const RowFile& file, Step first, History& history) {
  std::ranges::fill(history.steps(), first);
  std::vector<Step> steps;
  for_rows_held(file, static_cast<RowId>(history.steps().size()),
                [&](const std::vector<RowId>& rows) {
                  steps.resize(rows.size());
                  in.read(std::as_writable_bytes(std::span(steps)));
                  for (std::size_t i = 0; i < rows.size(); ++i) history.settle(rows[i], steps[i]);
                });
}

// Calls one of three visitors for every section, in the order of the file.
template <class Dense, class Weights, class Steps>
void for_each_section(Trainer& trainer, bool settled, Dense&& dense, Weights&& weights,
                      Steps&& steps) {
  dense(trainer.model().parameters());
  for (std::size_t k = 0; k < trainer.tables().size(); ++k) {
    if (trainer.files() == nullptr) weights(k, weights_of(trainer.tables()[k]));
    History* history = settled ? nullptr : trainer.updates().history(k);
    if (history != nullptr) steps(k, *history);
  }
}

}  // namespace

Json sections_of(Trainer& trainer, bool settled) {
  Json sections = Json::array();
  const auto add = [&sections](const std::string& name, std::size_t bytes) {
    sections.push_back({{"name", name}, {"bytes", bytes}});
  };
  for_each_section(
      trainer, settled, [&](std::span<float> dense) { add("dense", dense.size_bytes()); },
      [&](std::size_t k, std::span<float> weights) {
        add("table." + std::to_string(k), weights.size_bytes());
      },
      [&](std::size_t k, const History& history) {
        const std::size_t rows = trainer.files() == nullptr
                                     ? history.steps().size()
                                     : static_cast<std::size_t>(trainer.files()->file(k).held());
        add("history." + std::to_string(k), rows * sizeof(Step));
      });
  return sections;
}

void write_sections(SealedWriter& file, Trainer& trainer, bool settled) {
  for_each_section(
      trainer, settled, [&](std::span<float> dense) { file.write(std::as_bytes(dense)); },
      [&](std::size_t, std::span<float> weights) { file.write(std::as_bytes(weights)); },
      [&](std::size_t k, const History& history) {
        if (trainer.files() != nullptr) {
          write_history(file, trainer.files()->file(k), history);
        } else {
          file.write(std::as_bytes(history.steps()));
        }
      });
}

void read_sections(SealedReader& file, Trainer& trainer, bool settled, Step first) {
  for_each_section(
      trainer, settled, [&](std::span<float> dense) { file.read(std::as_writable_bytes(dense)); },
      [&](std::size_t, std::span<float> weights) { file.read(std::as_writable_bytes(weights)); },
      [&](std::size_t k, History& history) {
        if (trainer.files() != nullptr) {
          read_history(file, trainer.files()->file(k), first, history);
        } else {
          file.read(std::as_writable_bytes(history.steps()));
        }
      });
}

}  // namespace lazydp
