#pragma once
// Checks that hold for every communicator, made by each of its ranks.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/shard/communicator.h"

namespace lazydp {

// Rank a sends b words to rank b, and to itself; a rank may send and get nothing.
inline void check_all_to_all(Communicator& ranks) {
  const auto size = static_cast<std::size_t>(ranks.size());
  const auto here = static_cast<std::size_t>(ranks.rank());
  const auto words = [&](std::size_t from, std::size_t to) { return from * 3 + to * to; };
  const auto value = [&](std::size_t from, std::size_t to, std::size_t i) {
    return static_cast<float>(from * 10000 + to * 100 + i);
  };
  std::vector<float> out;
  std::vector<std::size_t> out_counts;
  std::vector<std::size_t> in_counts;
  std::vector<float> expected;
  for (std::size_t p = 0; p < size; ++p) {
    out_counts.push_back(words(here, p));
    in_counts.push_back(words(p, here));
    for (std::size_t i = 0; i < words(here, p); ++i) out.push_back(value(here, p, i));
    for (std::size_t i = 0; i < words(p, here); ++i) expected.push_back(value(p, here, i));
  }
  std::vector<float> in(expected.size(), -1.0f);
  ranks.all_to_all(Slices<const float>{out.data(), out_counts}, {in.data(), in_counts});
  EXPECT_EQ(in, expected);
}

inline void check_sums(Communicator& ranks) {
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300000}}) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(i % 1000 + 1) * static_cast<float>(ranks.rank() + 1);
    }
    ranks.add_up(std::span(values));
    const int all = ranks.size() * (ranks.size() + 1) / 2;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(values[i], static_cast<float>(i % 1000 + 1) * static_cast<float>(all));
    }
  }
  // Sums that round are the same everywhere.
  std::vector<float> thirds(5000);
  for (std::size_t i = 0; i < thirds.size(); ++i) {
    thirds[i] =
        1.0f / static_cast<float>(3 + 7 * i + 1000 * static_cast<std::size_t>(ranks.rank()));
  }
  ranks.add_up(std::span(thirds));
  std::vector<float> of_last = thirds;
  ranks.broadcast(std::as_writable_bytes(std::span(of_last)), ranks.size() - 1);
  EXPECT_EQ(thirds, of_last);
  double one = 1.0;
  ranks.add_up(std::span(&one, 1));
  EXPECT_EQ(one, ranks.size());
}

inline void check_texts(Communicator& ranks) {
  const std::string mine(static_cast<std::size_t>(ranks.rank()) * 1000, 'x');
  const std::vector<std::string> all = ranks.gather(mine);
  EXPECT_EQ(all.size(), ranks.rank() == 0 ? static_cast<std::size_t>(ranks.size()) : 0u);
  for (std::size_t p = 0; p < all.size(); ++p) EXPECT_EQ(all[p].size(), p * 1000);
  EXPECT_EQ(ranks.broadcast_text(ranks.rank() == 0 ? "from the first" : "mine"), "from the first");
  EXPECT_TRUE(ranks.any(ranks.rank() == ranks.size() - 1));
  EXPECT_FALSE(ranks.any(false));
}

inline void check_pairs(Communicator& ranks) {
  const int next = (ranks.rank() + 1) % ranks.size();
  const int before = (ranks.rank() + ranks.size() - 1) % ranks.size();
  const std::uint64_t here = static_cast<std::uint64_t>(ranks.rank());
  std::uint64_t came = 99;
  if (ranks.size() == 1) return;
  if (ranks.rank() == 0) {
    ranks.send(std::as_bytes(std::span(&here, 1)), next);
    ranks.receive(std::as_writable_bytes(std::span(&came, 1)), before);
  } else {
    ranks.receive(std::as_writable_bytes(std::span(&came, 1)), before);
    ranks.send(std::as_bytes(std::span(&here, 1)), next);
  }
  EXPECT_EQ(came, static_cast<std::uint64_t>(before));
}

inline void check_everything(Communicator& ranks) {
  check_all_to_all(ranks);
  check_sums(ranks);
  ranks.barrier();
  check_texts(ranks);
  check_pairs(ranks);
  EXPECT_GE(ranks.neighbours(), 1);
}

}  // namespace lazydp
