#include "lazydp/noise/adaptive_tables.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
constexpr float kAdamEpsilon = 1e-8f, kAdagradEpsilon = 1e-10f;

// Kingma and Ba 2015, with epsilon beside the uncorrected root, as torch.optim.SparseAdam has it.
void descend_by_adam(std::span<float> w, std::span<const float> g, std::span<float> m,
                     std::span<float> v, double rate, Step t) {
  constexpr auto kB1 = static_cast<float>(1.0 - kBeta1), kB2 = static_cast<float>(1.0 - kBeta2);
  const auto size =
      static_cast<float>(rate * std::sqrt(1.0 - std::pow(kBeta2, t)) / (1.0 - std::pow(kBeta1, t)));
  for (std::size_t i = 0; i < w.size(); ++i) {
    m[i] += kB1 * (g[i] - m[i]);
    v[i] += kB2 * (g[i] * g[i] - v[i]);
    w[i] -= size * m[i] / (std::sqrt(v[i]) + kAdamEpsilon);
  }
}

// Duchi, Hazan and Singer 2011.
void descend_by_adagrad(std::span<float> w, std::span<const float> g, std::span<float> v,
                        float rate) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    v[i] += g[i] * g[i];
    w[i] -= rate * g[i] / (std::sqrt(v[i]) + kAdagradEpsilon);
  }
}

}  // namespace

Step RateClock::open(const TableStep& step) {
  check(step.noise_std == 0.0 && step.weight_decay == 0.0, "a step without noise or decay");
  rates_.push_back(step.learning_rate);
  divisor_ = step.divisor;
  return now();
}

void RateClock::restore(std::span<const double> numbers, Step before_block) {
  rates_.assign(numbers.begin(), numbers.end());
  before_block_ = before_block;
}

void RateClock::restore_settled(Step steps) {
  rates_.assign(steps, 0.0);
  before_block_ = steps;
}

AdaptiveTables::Memory::Memory(const Table& table, TableRule rule)
    : seen(table.rows()), places(static_cast<std::size_t>(table.rows()) * sizeof(std::uint32_t)) {
  for (std::size_t i = 0; i < state_floats(rule); ++i) states.emplace_back(table.bytes());
}

AdaptiveTables::AdaptiveTables(TableRule rule, std::span<Table> tables, const RateClock& clock)
    : TableOptimizer(tables), rule_(rule), clock_(clock) {
  check(!linear(rule), "rules that are linear may wait for noise elsewhere");
  for (const Table& table : tables) {
    check(table.in_order(), "what is remembered is in memory, as the table is");
    memory_.emplace_back(table, rule);
  }
}

void AdaptiveTables::apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) {
  guard_.run([&] {
    for (std::size_t k = 0; k < tables_.size(); ++k) {
      find_rows(t, k, gradients[k].ids());
      move_rows(t, k, gradients[k]);
    }
  });
  stages.lap(Stage::gradient_update);
}

// Finds the distinct rows, by share, and gives each a slot.
void AdaptiveTables::find_rows(Step t, std::size_t table, Ids ids) {
  Memory& memory = memory_[table];
  auto* const places = static_cast<std::uint32_t*>(memory.places.data());
  rows_.resize(static_cast<std::size_t>(thread_count()));
  parallel_for(rows_.size(), [&](std::size_t share) {
    rows_[share].clear();
    claim_late_rows(memory.seen, t, ids, {share, rows_.size()}, rows_[share]);
  });
  std::uint32_t slots = 0;
  for (const std::vector<LateRow>& rows : rows_) {
    for (const LateRow& row : rows) places[static_cast<std::size_t>(row.id)] = ++slots;
    traffic_.read += rows.size();
    traffic_.written += rows.size();
  }
  sums_.assign(slots * tables_[table].dim(), 0.0f);
}

void AdaptiveTables::move_rows(Step t, std::size_t table, const TableGradient& gradient) {
  const auto* const places = static_cast<const std::uint32_t*>(memory_[table].places.data());
  const Table& whole = tables_[table];
  const auto mean = static_cast<float>(1.0 / clock_.divisor());
  Table sums = Table::scattered(whole.id(), whole.rows(), whole.dim(), sums_.data(), places);
  parallel_for(rows_.size(), [&](std::size_t share) {
    add_gradient(sums, gradient, mean, {share, rows_.size()});
  });
  // Shares of sums are shares of slots, not of rows: all are complete before a row moves.
  parallel_for(rows_.size(), [&](std::size_t share) {
    for (const LateRow& row : rows_[share]) move(t, table, row.id, sums.row(row.id));
  });
}

void AdaptiveTables::move(Step t, std::size_t table, RowId row, std::span<const float> gradient) {
  const Memory& memory = memory_[table];
  const std::span<float> weights = tables_[table].row(row);
  const std::size_t dim = weights.size();
  if (rule_ == TableRule::adam) {
    descend_by_adam(weights, gradient, memory.floats(0, row, dim), memory.floats(1, row, dim),
                    clock_.rate(), t);
  } else {
    descend_by_adagrad(weights, gradient, memory.floats(0, row, dim),
                       static_cast<float>(clock_.rate()));
  }
}

void AdaptiveTables::settle(Step, std::span<const Ids>, StageClock&) {
  guard_.require_whole();
}

void AdaptiveTables::settle_and_pool(Step, std::span<const Bags> bags, Pooling mode,
                                     std::span<const MatrixView> pooled, StageClock& stages) {
  guard_.require_whole();
  pool(tables_, bags, mode, pooled);
  stages.lap(Stage::forward);
}

void AdaptiveTables::settle_all(Step, const std::function<void(std::uint64_t)>& progress) {
  guard_.require_whole();
  for (const Table& table : tables_) {
    if (progress) progress(static_cast<std::uint64_t>(table.rows()));
  }
}

void AdaptiveTables::settle_copy(Step, std::size_t, RowId, RowId, Table&) {
  guard_.require_whole();
}

std::span<Step> AdaptiveTables::settled_through(std::size_t) {
  guard_.require_whole();
  return {};
}

std::vector<TableState> AdaptiveTables::state(std::size_t table) {
  const auto floats = [&](std::size_t which) {
    return std::span(static_cast<float*>(memory_[table].states[which].data()),
                     tables_[table].bytes() / sizeof(float));
  };
  if (rule_ == TableRule::adagrad) return {{"sum_of_squares", floats(0)}};
  return {{"first_moment", floats(0)}, {"second_moment", floats(1)}};
}

std::size_t AdaptiveTables::bytes() const {
  std::size_t bytes = 0;
  for (const Memory& memory : memory_) {
    bytes += memory.seen.bytes() + memory.places.bytes();
    for (const HugeMemory& state : memory.states) bytes += state.bytes();
  }
  return bytes;
}

}  // namespace lazydp
