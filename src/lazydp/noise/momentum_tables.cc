#include "lazydp/noise/momentum_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::size_t kRowsAtATime = 64;

// A drift as a row receives it: m and w answer to two independent standard normals, w to the first
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

// Standard normals of a few rows.
class Normals {
 public:
  Normals(std::size_t rows, std::size_t dim) : dim_(dim), values_(rows * dim, 0.0f) {}

  void draw(const NoiseCells& cells, std::span<const LateRow> rows) {
    std::array<NoisyRow, kRowsAtATime> to;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      to[i] = {values_.data() + i * dim_, static_cast<std::uint64_t>(rows[i].id), 0.0f, 1.0f};
    }
    cells.add(std::span(to).first(rows.size()), dim_);
  }
  const float* of(std::size_t i) const { return values_.data() + i * dim_; }

 private:
  std::size_t dim_;
  std::vector<float> values_;
};

}  // namespace

MomentumUpdates::MomentumUpdates(NoisePolicy policy, Table& weights, Table& momentum,
                                 const MomentumClock& clock, const NoiseSource& noise)
    : weights_(weights),
      momentum_(momentum),
      clock_(clock),
      noise_(noise),
      every_row_(policy == NoisePolicy::every_row),
      on_read_(Pay::none),
      on_gradient_(Pay::none),
      history_(weights.rows()) {
  check(momentum.rows() == weights.rows() && momentum.dim() == weights.dim(),
        "a momentum for each weight");
  switch (policy) {
    case NoisePolicy::none: break;
    case NoisePolicy::every_row: on_read_ = on_gradient_ = Pay::each_step; break;
    case NoisePolicy::touched_rows: on_gradient_ = Pay::last_step; break;
    case NoisePolicy::lazy_each_step: on_read_ = on_gradient_ = Pay::each_step; break;
    case NoisePolicy::lazy_aggregated: on_read_ = on_gradient_ = Pay::aggregated; break;
  }
}

void MomentumUpdates::apply(Step t, const TableGradient& gradient) {
  guard_.run([&] {
    if (every_row_) catch_up_all(t);
    catch_up(t, gradient.ids(), on_gradient_);
    const Response& response = clock_.response();
    const auto shares = static_cast<std::size_t>(thread_count());
    parallel_for(shares, [&](std::size_t share) {
      add_gradient(momentum_, gradient, static_cast<float>(response.m), {share, shares});
      add_gradient(weights_, gradient, static_cast<float>(response.w), {share, shares});
    });
  });
}

void MomentumUpdates::settle(Step t, std::span<const RowId> ids) {
  guard_.run([&] { catch_up(t, ids, on_read_); });
}

void MomentumUpdates::settle_all(Step t) {
  guard_.run([&] { catch_up_all(t); });
}

void MomentumUpdates::catch_up_all(Step t) {
  const RunsThrough<Drift> drifts = clock_.through(t);
  constexpr std::size_t kRows = 4096;
  parallel_blocks(
      static_cast<std::size_t>(weights_.rows()), kRows, [&](std::size_t begin, std::size_t end) {
        std::vector<LateRow> late;
        claim_late_range(history_, t, static_cast<RowId>(begin), static_cast<RowId>(end), late);
        pay_rows(drifts, late, on_read_);
      });
}

void MomentumUpdates::catch_up(Step t, std::span<const RowId> ids, Pay pay) {
  const auto shares = static_cast<std::size_t>(thread_count());
  late_.resize(shares);
  const RunsThrough<Drift> drifts = clock_.through(t);
  parallel_for(shares, [&](std::size_t share) {
    late_[share].clear();
    claim_late_rows(history_, t, ids, {share, shares}, late_[share]);
    pay_rows(drifts, late_[share], pay);
  });
}

void MomentumUpdates::pay_rows(const RunsThrough<Drift>& drifts, std::span<const LateRow> late,
                               Pay pay) {
  for (std::size_t i = 0; i < late.size(); i += kRowsAtATime) {
    const auto few = late.subspan(i, std::min(kRowsAtATime, late.size() - i));
    switch (pay) {
      case Pay::none: drift_only(drifts, few); break;
      case Pay::last_step: pay_one_step(drifts.through(), drifts.at(drifts.through()), few); break;
      case Pay::aggregated: pay_aggregated(drifts, few); break;
      case Pay::each_step:
        for (const LateRow& row : few) {
          for (Step s = row.after + 1; s <= drifts.through(); ++s) {
            pay_one_step(s, drifts.at(s), {&row, 1});
          }
        }
        break;
    }
  }
}

void MomentumUpdates::pay_aggregated(const RunsThrough<Drift>& drifts,
                                     std::span<const LateRow> late) {
  const Step t = drifts.through();
  const std::size_t dim = weights_.dim();
  Normals first(late.size(), dim);
  Normals second(late.size(), dim);
  first.draw(noise_.table(weights_.id(), weights_.rows(), dim, Draws::aggregated, t), late);
  second.draw(noise_.table(weights_.id(), weights_.rows(), dim, Draws::aggregated, t,
                           Purpose::momentum_noise),
              late);
  for (std::size_t i = 0; i < late.size(); ++i) {
    const Move move(drifts.since(late[i].after));
    move(momentum_.row(late[i].id), weights_.row(late[i].id), first.of(i), second.of(i));
  }
}

// One step's noise is one normal: momentum and weight answer to it together.
void MomentumUpdates::pay_one_step(Step t, const Drift& drift, std::span<const LateRow> late) {
  const std::size_t dim = weights_.dim();
  Normals normals(late.size(), dim);
  if (drift.noisy()) {
    normals.draw(noise_.table(weights_.id(), weights_.rows(), dim, Draws::each_step, t), late);
  }
  Move move(drift);
  move.m_second = 0.0f;
  if (drift.var_w == 0.0) move.m_first = -static_cast<float>(std::sqrt(drift.var_m));
  for (std::size_t i = 0; i < late.size(); ++i) {
    move(momentum_.row(late[i].id), weights_.row(late[i].id), normals.of(i), normals.of(i));
  }
}

void MomentumUpdates::drift_only(const RunsThrough<Drift>& drifts, std::span<const LateRow> late) {
  const std::vector<float> zeros(weights_.dim(), 0.0f);
  for (const LateRow& row : late) {
    Drift drift = drifts.since(row.after);
    drift.var_m = drift.cov = drift.var_w = 0.0;
    Move{drift}(momentum_.row(row.id), weights_.row(row.id), zeros.data(), zeros.data());
  }
}

}  // namespace lazydp
