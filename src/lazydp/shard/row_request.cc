#include "lazydp/shard/row_request.h"

#include <algorithm>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

}  // namespace

RowRequest::RowRequest(const Layout& layout, int rank)
    : layout_(layout),
      rank_(rank),
      ranks_(static_cast<std::size_t>(layout.ranks())),
      out_(layout.tables() * (ranks_ + 1)),
      received_begin_(layout.tables() * (ranks_ + 1)),
      bags_(layout.tables()),
      first_(layout.tables() * (ranks_ + 1)),
      place_(layout.tables()) {
  for (std::size_t k = 0; k < layout.tables(); ++k) {
    if (layout.copied(k)) {
      place_[k].resize(static_cast<std::size_t>(layout.range(k, rank).count));
    }
  }
}

void RowRequest::build(const Batch& batch) {
  const std::size_t tables = layout_.tables();
  parallel_for(tables, [&](std::size_t k) {
    const Bags& bags = batch.bags[k];
    check(bags.weights.empty(), "ranks exchange bags without weights");
    for (std::size_t p = 0; p < ranks_; ++p) {
      out_[at(k, static_cast<int>(p))].rows.clear();
      out_[at(k, static_cast<int>(p))].bags.clear();
    }
    if (layout_.copied(k)) {
      name_distinct(k, bags);
    } else {
      cut(k, bags);
    }
  });
  message_.clear();
  lengths_.clear();
  words_.assign(ranks_, 0);
  for (int p = 0; p < layout_.ranks(); ++p) {
    const std::size_t before = message_.size();
    for (std::size_t k = 0; k < tables; ++k) {
      // Rows that this rank requests from itself do not travel; a copied table's rows go to all
      // ranks.
      const std::vector<std::uint32_t>& rows = out_[at(k, layout_.copied(k) ? rank_ : p)].rows;
      lengths_.push_back(p == rank_ ? 0 : static_cast<std::uint32_t>(rows.size()));
      if (p != rank_) message_.insert(message_.end(), rows.begin(), rows.end());
    }
    words_[static_cast<std::size_t>(p)] = message_.size() - before;
  }
}

void RowRequest::cut(std::size_t k, const Bags& bags) {
  Outgoing* out = &out_[at(k, 0)];
  for (std::size_t i = 0; i < bags.size(); ++i) {
    const auto bag = static_cast<std::uint32_t>(i);
    for (const RowId row : bags.of(i)) {
      const int p = layout_.owner(k, row);
      Outgoing& to = out[p];
      auto word = static_cast<std::uint32_t>(row - layout_.range(k, p).first);
      if (to.bags.empty() || to.bags.back() != bag) {
        to.bags.push_back(bag);
        word |= kBegins;
      }
      to.rows.push_back(word);
    }
  }
}

void RowRequest::name_distinct(std::size_t k, const Bags& bags) {
  std::vector<std::uint32_t>& seen = place_[k];
  std::ranges::fill(seen, kNowhere);
  Outgoing& out = out_[at(k, rank_)];
  for (const RowId row : bags.ids) {
    std::uint32_t& place = seen[static_cast<std::size_t>(row)];
    if (place == kNowhere) out.rows.push_back(static_cast<std::uint32_t>(row));
    place = 0;
  }
}

void RowRequest::exchange(Communicator& ranks) {
  const std::size_t tables = layout_.tables();
  const std::vector<std::size_t> one_each(ranks_, tables);
  received_lengths_.resize(ranks_ * tables);
  ranks.all_to_all({lengths_.data(), one_each}, {received_lengths_.data(), one_each});
  received_words_.assign(ranks_, 0);
  std::size_t begin = 0;
  for (std::size_t p = 0; p < ranks_; ++p) {
    for (std::size_t k = 0; k < tables; ++k) {
      const std::size_t length = received_lengths_[p * tables + k];
      received_begin_[at(k, static_cast<int>(p))] = begin;
      received_words_[p] += length;
      begin += length;
    }
  }
  received_.resize(begin);
  ranks.all_to_all({message_.data(), words_}, {received_.data(), received_words_});
}

std::span<const std::uint32_t> RowRequest::rows_from(std::size_t k, int p) const {
  if (p == rank_) return out_[at(k, p)].rows;
  const std::size_t length = received_lengths_[static_cast<std::size_t>(p) * layout_.tables() + k];
  return std::span(received_).subspan(received_begin_[at(k, p)], length);
}

void RowRequest::decode() {
  parallel_for(layout_.tables(), [&](std::size_t k) {
    bags_[k].clear();
    if (layout_.copied(k)) {
      decode_copied(k);
    } else {
      decode_cut(k);
    }
  });
}

void RowRequest::decode_cut(std::size_t k) {
  Bags& bags = bags_[k];
  std::size_t count = 0;
  for (int p = 0; p < layout_.ranks(); ++p) {
    first_[at(k, p)] = count;
    for (const std::uint32_t word : rows_from(k, p)) {
      if ((word & kBegins) != 0) {
        if (count++ > 0) bags.offsets.push_back(bags.ids.size());
      }
      bags.ids.push_back(static_cast<RowId>(word & ~kBegins));
    }
  }
  first_[at(k, layout_.ranks())] = count;
  if (count > 0) bags.offsets.push_back(bags.ids.size());
}

void RowRequest::decode_copied(std::size_t k) {
  std::vector<std::uint32_t>& place = place_[k];
  std::ranges::fill(place, kNowhere);
  for (int p = 0; p < layout_.ranks(); ++p) {
    for (const std::uint32_t row : rows_from(k, p)) place[row] = 0;
  }
  Bags& bags = bags_[k];
  for (std::size_t row = 0; row < place.size(); ++row) {
    if (place[row] == kNowhere) continue;
    place[row] = static_cast<std::uint32_t>(bags.ids.size());
    bags.ids.push_back(static_cast<RowId>(row));
    bags.offsets.push_back(bags.ids.size());
  }
}

}  // namespace lazydp
