#pragma once
// Requests the rows, on any rank, that the batch of a step names.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/data/batch.h"
#include "lazydp/shard/communicator.h"
#include "lazydp/shard/layout.h"

namespace lazydp {

// Each rank builds a request from its own part of the batch; the ranks exchange them, and each
// decodes what it received. In a table that is cut, the part of a bag that one rank owns is a
// fragment: its rows travel there as one list, and come back as one vector. For a table that is
// copied, every rank learns which rows any rank names, so that all copies settle the same.
//
// On the way a row takes four bytes: its number on the owner, with the top bit set where a fragment
// begins.
class RowRequest {
 public:
  RowRequest(const Layout& layout, int rank);

  Step step = 0;  // the step it belongs to; 0: none

  void build(const Batch& batch);
  void exchange(Communicator& ranks);
  void decode();

  // At home: returns the bags of table k that have a fragment on rank p, in the order of the
  // fragments.
  std::span<const std::uint32_t> fragments(std::size_t k, int p) const {
    return out_[at(k, p)].bags;
  }

  // At the owner. Table cut: the fragments of all ranks as bags, rank after rank, rows numbered as
  // here. Table copied: a bag for each row that any rank names, ascending.
  const Bags& bags(std::size_t k) const { return bags_[k]; }
  std::span<const Bags> bags() const { return bags_; }

  // Returns the first of rank p's bags in a table that is cut.
  std::size_t first(std::size_t k, int p) const { return first_[at(k, p)]; }
  std::size_t count(std::size_t k, int p) const { return first_[at(k, p) + 1] - first(k, p); }

  // Returns which bag is row r's in a table that is copied.
  std::size_t place(std::size_t k, RowId r) const { return place_[k][static_cast<std::size_t>(r)]; }

 private:
  struct Outgoing {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> bags;
  };
  static constexpr std::uint32_t kBegins = std::uint32_t{1} << 31;

  std::size_t at(std::size_t k, int p) const {
    return k * (ranks_ + 1) + static_cast<std::size_t>(p);
  }
  void cut(std::size_t k, const Bags& bags);
  void name_distinct(std::size_t k, const Bags& bags);
  void decode_cut(std::size_t k);
  void decode_copied(std::size_t k);
  std::span<const std::uint32_t> rows_from(std::size_t k, int p) const;

  const Layout& layout_;
  int rank_;
  std::size_t ranks_;
  std::vector<Outgoing> out_;            // by table and rank
  std::vector<std::uint32_t> message_;   // to others: rank by rank, table by table
  std::vector<std::uint32_t> lengths_;   // words in each part of the message, in the same order
  std::vector<std::size_t> words_;       // words of the message for each rank
  std::vector<std::uint32_t> received_;  // messages received from other ranks
  std::vector<std::uint32_t> received_lengths_;
  std::vector<std::size_t> received_words_;
  std::vector<std::size_t> received_begin_;  // by table and rank
  std::vector<Bags> bags_;
  std::vector<std::size_t> first_;  // by table and rank, and one more
  std::vector<std::vector<std::uint32_t>> place_;
};

}  // namespace lazydp
