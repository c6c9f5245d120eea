#include "lazydp/noise/momentum_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::size_t kRowsAtATime = 64;

// A drift as a row receives it. m and w respond to two independent standard normals, w to the first
// alone, so that one step, whose covariance is singular, needs no second one.
struct Move {
  float mm, mw, wm, ww;
  float w_first, m_first, m_second;

  explicit Move(const Drift& drift)
      : mm(static_cast<float>(drift.mm)),
        mw(static_cast<float>(drift.mw)),
        wm(static_cast<float>(drift.wm)),
        ww(static_cast<float>(drift.ww)) {
    const double w1 = std::sqrt(drift.var_w);
    const double m1 = w1 > 0.0 ? drift.cov / w1 : 0.0;
    w_first = static_cast<float>(w1);
    m_first = static_cast<float>(m1);
    m_second = static_cast<float>(std::sqrt(std::max(0.0, drift.var_m - m1 * m1)));
  }

  void operator()(std::span<float> m, std::span<float> w, const float* first,
                  const float* second) const {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const float m_was = m[i];
      const float w_was = w[i];
      m[i] = mm * m_was + mw * w_was + m_first * first[i] + m_second * second[i];
      w[i] = wm * m_was + ww * w_was + w_first * first[i];
    }
  }
};

// Settles late rows of one table and their momenta.
class PairedRows {
 public:
  PairedRows(Table& weights, Table& momenta, const NoiseSource& noise)
      : weights_(weights), momenta_(momenta), noise_(noise) {}

  // Settles `late` through the end of `drifts`.
  void settle(const RangesEndingAt<Drift>& drifts, std::span<const LateRow> late, Missed missed) {
    for (std::size_t i = 0; i < late.size(); i += kRowsAtATime) {
      const auto few = late.subspan(i, std::min(kRowsAtATime, late.size() - i));
      switch (missed) {
        case Missed::nothing: drift_only(drifts, few); break;
        case Missed::this_step: settle_one_step(drifts, drifts.through(), few); break;
        case Missed::aggregated: settle_at_once(drifts, few); break;
        case Missed::each_step:
          for (const LateRow& row : few) {
            for (Step s = row.after + 1; s <= drifts.through(); ++s) {
              settle_one_step(drifts, s, {&row, 1});
            }
          }
          break;
      }
    }
  }

 private:
  // Standard normals of a few rows, one after the other.
  using Normals = std::vector<float>;

  Normals draw(CellKind kind, Step t, std::span<const LateRow> rows, Purpose purpose) const {
    const std::size_t dim = weights_.dim();
    Normals normals(rows.size() * dim, 0.0f);
    std::array<NoisyRow, kRowsAtATime> to;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RowId row = weights_.first_row() + rows[i].id;
      to[i] = {normals.data() + i * dim, static_cast<std::uint64_t>(row), 0.0f, 1.0f};
    }
    noise_.table(weights_.id(), weights_.whole_rows(), dim, kind, t, purpose)
        .add(std::span(to).first(rows.size()), dim);
    return normals;
  }

  void settle_at_once(const RangesEndingAt<Drift>& drifts, std::span<const LateRow> late) {
    const Step t = drifts.through();
    const Normals first = draw(CellKind::aggregated, t, late, Purpose::table_noise);
    const Normals second = draw(CellKind::aggregated, t, late, Purpose::momentum_noise);
    for (std::size_t i = 0; i < late.size(); ++i) {
      move(Move(drifts.since(late[i].after)), late[i], first, second, i);
    }
  }

  // One step's noise is one normal: momentum and weight respond to it together.
  void settle_one_step(const RangesEndingAt<Drift>& drifts, Step t, std::span<const LateRow> late) {
    const Drift& drift = drifts.at(t);
    const Normals normals = drift.noisy() ? draw(CellKind::each_step, t, late, Purpose::table_noise)
                                          : Normals(late.size() * weights_.dim(), 0.0f);
    Move step(drift);
    step.m_second = 0.0f;
    if (drift.var_w == 0.0) step.m_first = -static_cast<float>(std::sqrt(drift.var_m));
    for (std::size_t i = 0; i < late.size(); ++i) move(step, late[i], normals, normals, i);
  }

  void drift_only(const RangesEndingAt<Drift>& drifts, std::span<const LateRow> late) {
    const Normals zeros(weights_.dim(), 0.0f);
    for (const LateRow& row : late) {
      Drift drift = drifts.since(row.after);
      drift.var_m = drift.cov = drift.var_w = 0.0;
      move(Move(drift), row, zeros, zeros, 0);
    }
  }

  void move(const Move& by, const LateRow& row, const Normals& first, const Normals& second,
            std::size_t i) {
    const std::size_t at = i * weights_.dim();
    by(momenta_.row(row.id), weights_.row(row.id), first.data() + at, second.data() + at);
  }

  Table& weights_;
  Table& momenta_;
  const NoiseSource& noise_;
};

std::vector<Table> zeros_like(std::span<const Table> tables) {
  std::vector<Table> zeros;
  for (const Table& table : tables) {
    zeros.emplace_back(table.id(), RowRange{table.first_row(), table.rows()}, table.whole_rows(),
                       table.dim());
  }
  return zeros;
}

}  // namespace

MomentumTables::MomentumTables(NoisePolicy policy, std::span<Table> weights,
                               const MomentumClock& clock, const NoiseSource& noise)
    : MomentumTables(policy, weights, zeros_like(weights), clock, noise) {}

MomentumTables::MomentumTables(NoisePolicy policy, std::span<Table> weights,
                               std::vector<Table> momenta, const MomentumClock& clock,
                               const NoiseSource& noise)
    : TableOptimizer(weights),
      policy_(traits_of(policy)),
      momenta_(std::move(momenta)),
      clock_(clock),
      noise_(noise) {
  check(momenta_.size() == weights.size(), "a table of momenta for each table");
  for (std::size_t k = 0; k < weights.size(); ++k) {
    check(momenta_[k].rows() == weights[k].rows() && momenta_[k].dim() == weights[k].dim() &&
              weights[k].in_order(),
          "a momentum for each weight, in memory");
    histories_.emplace_back(weights[k].rows());
  }
}

void MomentumTables::apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) {
  const Missed missed =
      policy_.on_gradient == Missed::nothing ? policy_.on_read : policy_.on_gradient;
  const Response& response = clock_.response();
  const auto shares = static_cast<std::size_t>(thread_count());
  guard_.run([&] {
    for (std::size_t k = 0; k < tables_.size(); ++k) {
      const RowRange turn = policy_.writes_every_row ? RowRange{0, tables_[k].rows()}
                                                     : rows_in_turn(policy_, t, tables_[k]);
      catch_up_range(t, k, turn.first, turn.first + turn.count);
      catch_up(t, k, gradients[k].ids(), missed);
      parallel_for(shares, [&](std::size_t share) {
        add_gradient(momenta_[k], gradients[k], static_cast<float>(response.m), {share, shares});
        add_gradient(tables_[k], gradients[k], static_cast<float>(response.w), {share, shares});
      });
      traffic_.read += gradients[k].ids().size();
      traffic_.written += gradients[k].ids().size();
    }
  });
  stages.lap(Stage::gradient_update);
}

void MomentumTables::settle(Step t, std::span<const Ids> ids, StageClock& stages) {
  guard_.run([&] {
    for (std::size_t k = 0; k < tables_.size(); ++k) {
      if (!ids[k].empty()) catch_up(t, k, ids[k], policy_.on_read);
    }
  });
  stages.lap(Stage::settle);
}

void MomentumTables::settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                                     std::span<const MatrixView> pooled, StageClock& stages) {
  std::vector<Ids> ids;
  for (const Bags& of_table : bags) ids.emplace_back(of_table.ids);
  settle(t, ids, stages);
  pool(tables_, bags, mode, pooled);
  stages.lap(Stage::forward);
}

void MomentumTables::settle_all(Step t, const std::function<void(std::uint64_t)>& progress) {
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    guard_.run([&] { catch_up_range(t, k, 0, tables_[k].rows()); });
    if (progress) progress(static_cast<std::uint64_t>(tables_[k].rows()));
  }
}

void MomentumTables::settle_copy(Step t, std::size_t table, RowId first, RowId last,
                                 Table& window) {
  guard_.require_whole();
  std::vector<LateRow> late;
  find_late_range(histories_[table], t, first, last, late);
  const std::span<const float> of_rows =
      momentum(table).subspan(static_cast<std::size_t>(first) * window.dim(),
                              static_cast<std::size_t>(last - first) * window.dim());
  std::vector<float> copy(of_rows.begin(), of_rows.end());
  Table momenta = Table::window(momenta_[table], first, copy);
  PairedRows(window, momenta, noise_).settle(clock_.through(t), late, policy_.on_read);
}

std::span<Step> MomentumTables::settled_through(std::size_t table) {
  guard_.require_whole();
  return histories_[table].steps();
}

std::vector<TableState> MomentumTables::state(std::size_t table) {
  return {{"momentum", momentum(table)}};
}

std::span<float> MomentumTables::momentum(std::size_t table) {
  Table& momenta = momenta_[table];
  return {momenta.weights(), static_cast<std::size_t>(momenta.rows()) * momenta.dim()};
}

std::size_t MomentumTables::bytes() const {
  std::size_t bytes = 0;
  for (const History& history : histories_) bytes += history.bytes();
  for (const Table& table : momenta_) bytes += table.bytes();
  return bytes;
}

void MomentumTables::catch_up_range(Step t, std::size_t table, RowId first, RowId last) {
  const RangesEndingAt<Drift> drifts = clock_.through(t);
  constexpr std::size_t kRows = 4096;
  PairedRows rows(tables_[table], momenta_[table], noise_);
  parallel_blocks(static_cast<std::size_t>(last - first), kRows,
                  [&](std::size_t begin, std::size_t end) {
                    std::vector<LateRow> late;
                    claim_late_range(histories_[table], t, first + static_cast<RowId>(begin),
                                     first + static_cast<RowId>(end), late);
                    rows.settle(drifts, late, policy_.on_read);
                  });
}

void MomentumTables::catch_up(Step t, std::size_t table, Ids ids, Missed missed) {
  const auto shares = static_cast<std::size_t>(thread_count());
  late_.resize(shares);
  const RangesEndingAt<Drift> drifts = clock_.through(t);
  PairedRows rows(tables_[table], momenta_[table], noise_);
  parallel_for(shares, [&](std::size_t share) {
    late_[share].clear();
    claim_late_rows(histories_[table], t, ids, {share, shares}, late_[share]);
    rows.settle(drifts, late_[share], missed);
  });
  for (const auto& late : late_) {
    traffic_.read += late.size();
    traffic_.written += late.size();
  }
}

}  // namespace lazydp
