#include "lazydp/shard/rank_exchange.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {

RankExchange::RankExchange(Communicator& ranks, const Layout& layout, std::span<Table> tables,
                           Pooling pooling)
    : comm_(ranks),
      layout_(layout),
      tables_(tables),
      pooling_(pooling),
      asked_{{{.request = RowRequest(layout, ranks.rank())},
              {.request = RowRequest(layout, ranks.rank())},
              {.request = RowRequest(layout, ranks.rank())}}},
      vectors_(tables.size()),
      copied_begin_(tables.size()) {
  check(layout.ranks() == ranks.size(), "a layout for these ranks");
}

template <class Visit>
void RankExchange::for_others(Visit&& visit) const {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  parallel_for(tables_.size() * ranks, [&](std::size_t task) {
    const std::size_t k = task / ranks;
    const auto p = static_cast<int>(task % ranks);
    if (!layout_.copied(k) && p != comm_.rank()) visit(k, p);
  });
}

void RankExchange::request(Step t, const Batch& batch, StageClock& stages) {
  Asked& asked = slot(t);
  check(t == 0 || asked.request.step < t, "the rows of a step are asked for once");
  asked.request.step = t;
  asked.request.build(batch);
  asked.decoded = false;
  asked.ticket = comm_.send([&asked](Communicator& ranks) { asked.request.exchange(ranks); });
  stages.lap(Stage::exchange);
}

RowRequest& RankExchange::decoded(Step t, StageClock& stages) {
  Asked& asked = slot(t);
  check(asked.request.step == t, "the rows of this step, not of one that was asked for since");
  if (asked.decoded) return asked.request;
  comm_.wait(asked.ticket);
  asked.request.decode();
  asked.ids.clear();
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    asked.ids.emplace_back(asked.request.bags(k).ids);
  }
  asked.decoded = true;
  stages.lap(Stage::exchange);
  return asked.request;
}

std::span<const Ids> RankExchange::requested(Step t, StageClock& stages) {
  decoded(t, stages);
  return slot(t).ids;
}

void RankExchange::settle_and_pool(Step t, Step through, const Batch& batch,
                                   TableOptimizer& optimizer, std::span<const MatrixView> pooled,
                                   StageClock& stages, const std::function<void()>& meanwhile) {
  const RowRequest& request = decoded(t, stages);
  const auto dim = [&](std::size_t k) { return layout_.copied(k) ? 0 : tables_[k].dim(); };
  const auto travels = [&](int p, std::size_t k) { return p != comm_.rank() && dim(k) > 0; };
  at_owner_.lay_out(comm_.size(), tables_.size(), [&](int p, std::size_t k) {
    return travels(p, k) ? request.count(k, p) * dim(k) : 0;
  });
  at_home_.lay_out(comm_.size(), tables_.size(), [&](int p, std::size_t k) {
    return travels(p, k) ? request.fragments(k, p).size() * dim(k) : 0;
  });
  views_.clear();
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    vectors_[k].reshape(request.bags(k).size(), tables_[k].dim());
    views_.push_back(vectors_[k].view());
  }
  optimizer.settle_and_pool(through, request.bags(), Pooling::sum, views_, stages);
  pack_pooled(request);
  const auto home = comm_.send([this](Communicator& ranks) {
    ranks.all_to_all(std::as_const(at_owner_).slices(), at_home_.slices());
  });
  stages.lap(Stage::exchange);
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    if (layout_.copied(k)) pool(tables_[k], batch.bags[k], pooling_, pooled[k]);
  }
  meanwhile();
  stages.lap(Stage::forward);
  comm_.wait(home);
  parallel_for(tables_.size(), [&](std::size_t k) {
    if (!layout_.copied(k)) join_fragments(request, k, batch.bags[k], pooled[k]);
  });
  stages.lap(Stage::exchange);
}

// Vectors that this rank requested from itself stay where they are.
void RankExchange::pack_pooled(const RowRequest& request) {
  for_others([&](std::size_t k, int p) {
    std::copy_n(vectors_[k].row(request.first(k, p)).data(), request.count(k, p) * tables_[k].dim(),
                at_owner_.block(p, k));
  });
}

void RankExchange::join_fragments(const RowRequest& request, std::size_t k, const Bags& bags,
                                  MatrixView pooled) {
  thread_local std::vector<char> written;
  written.assign(bags.size(), 0);
  for (int p = 0; p < comm_.size(); ++p) {
    const float* vector =
        p == comm_.rank() ? vectors_[k].row(request.first(k, p)).data() : at_home_.block(p, k);
    for (const std::uint32_t bag : request.fragments(k, p)) {
      const std::span<float> out = pooled.row(bag);
      if (written[bag] == 0) {
        std::copy_n(vector, out.size(), out.data());
      } else {
        add_scaled(1.0f, {vector, out.size()}, out);
      }
      written[bag] = 1;
      vector += out.size();
    }
  }
  for (std::size_t i = 0; i < bags.size(); ++i) {
    if (written[i] == 0) {
      std::ranges::fill(pooled.row(i), 0.0f);
    } else if (const float share = share_of(bags, i); share != 1.0f) {
      scale(share, pooled.row(i));
    }
  }
}

float RankExchange::share_of(const Bags& bags, std::size_t bag) const {
  return pooling_ == Pooling::mean ? 1.0f / static_cast<float>(bags.length(bag)) : 1.0f;
}

void RankExchange::send(Step t, std::span<const TableGradient> tables, StageClock& stages) {
  const RowRequest& request = decoded(t, stages);
  std::size_t end = 0;
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    copied_begin_[k] = end;
    if (layout_.copied(k)) end += request.bags(k).size() * tables_[k].dim();
  }
  copied_.assign(end, 0.0f);
  check(tables.size() == tables_.size(), "a gradient for each table");
  parallel_for(tables_.size(), [&](std::size_t k) {
    if (layout_.copied(k)) {
      add_copied(request, k, tables[k]);
    } else {
      pack(request, k, tables[k]);
    }
  });
  gradients_ticket_ = comm_.send([this](Communicator& ranks) {
    ranks.all_to_all(std::as_const(at_home_).slices(), at_owner_.slices());
    if (!copied_.empty()) ranks.add_up(copied_);
  });
  stages.lap(Stage::exchange);
}

// A gradient returns the way its vector came; gradients of rows on this rank go straight to where
// they are read.
void RankExchange::pack(const RowRequest& request, std::size_t k, const TableGradient& gradient) {
  const std::size_t dim = tables_[k].dim();
  for (int p = 0; p < comm_.size(); ++p) {
    float* out =
        p == comm_.rank() ? vectors_[k].row(request.first(k, p)).data() : at_home_.block(p, k);
    if (!gradient.trains()) {
      std::fill_n(out, request.fragments(k, p).size() * dim, 0.0f);
      continue;
    }
    for (const std::uint32_t bag : request.fragments(k, p)) {
      std::copy_n(gradient.pooled.row(bag).data(), dim, out);
      if (const float share = share_of(*gradient.bags, bag); share != 1.0f) {
        scale(share, {out, dim});
      }
      out += dim;
    }
  }
}

void RankExchange::add_copied(const RowRequest& request, std::size_t k,
                              const TableGradient& gradient) {
  if (!gradient.trains()) return;  // its rows receive zeros, which its optimizer leaves out
  const std::size_t dim = tables_[k].dim();
  float* rows = copied_.data() + copied_begin_[k];
  const Bags& bags = *gradient.bags;
  for (std::size_t i = 0; i < bags.size(); ++i) {
    for (const RowId row : bags.of(i)) {
      add_scaled(share_of(bags, i), gradient.pooled.row(i),
                 {rows + request.place(k, row) * dim, dim});
    }
  }
}

void RankExchange::start_sum(std::span<float> dense, const Tallies& tallies) {
  tallies_ = tallies;
  sum_ticket_ = comm_.send([this, dense](Communicator& ranks) {
    ranks.add_up(dense);
    ranks.add_up(std::span<float>(tallies_));
  });
}

std::span<const TableGradient> RankExchange::receive(Step t, StageClock& stages) {
  const RowRequest& request = decoded(t, stages);
  comm_.wait(gradients_ticket_);
  gradients_.clear();
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    const Bags& bags = request.bags(k);
    const std::size_t dim = tables_[k].dim();
    const float* values =
        layout_.copied(k) ? copied_.data() + copied_begin_[k] : vectors_[k].data();
    gradients_.push_back({&bags, Pooling::sum, {values, bags.size(), dim, dim}});
  }
  for_others([&](std::size_t k, int p) {
    std::copy_n(at_owner_.block(p, k), request.count(k, p) * tables_[k].dim(),
                vectors_[k].row(request.first(k, p)).data());
  });
  stages.lap(Stage::exchange);
  return gradients_;
}

Tallies RankExchange::finish_sum(StageClock& stages) {
  comm_.wait(sum_ticket_);
  stages.lap(Stage::exchange);
  return tallies_;
}

}  // namespace lazydp
