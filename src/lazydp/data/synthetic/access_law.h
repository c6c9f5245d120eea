#pragma once
// The distribution of look-ups over the rows of a table: uniform, or Zipf's law.

#include <cstdint>
#include <numbers>
#include <numeric>
#include <optional>

#include "lazydp/base/types.h"

namespace lazydp {

// Maps popularity ranks to rows by a bijection: multiplication modulo rows. With the golden ratio
// of the rows as multiplier the hottest k rows, for any k, lie about rows / k apart.
class Scatter {
 public:
  explicit Scatter(std::uint64_t rows)
      : rows_(rows),
        multiplier_(static_cast<std::uint64_t>(static_cast<double>(rows) / std::numbers::phi)) {
    while (std::gcd(multiplier_, rows_) != 1) ++multiplier_;
  }
  RowId operator()(std::uint64_t rank) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<RowId>(Wide{rank} * multiplier_ % rows_);
  }

 private:
  std::uint64_t rows_;
  std::uint64_t multiplier_;
};

// Draws from Zipf's law over ranks: rank k has a probability proportional to 1 / (k + 1)^exponent.
//
// Exact for any number of ranks up to 2^40 and any exponent in (0, kMaxZipfExponent], in constant
// time and memory: rejection-inversion (Hörmann and Derflinger 1996). The density x^-exponent is
// integrated in closed form, its integral inverted at a uniform, and the nearest rank accepted with
// exactly the probability that makes the continuous law the discrete one. Rarely is more than one
// uniform needed.
class Zipf {
 public:
  Zipf(std::uint64_t ranks, double exponent);

  // Returns one rank in [0, ranks). `random.uniform()` must be in (0, 1).
  template <class Random>
  std::uint64_t draw(Random& random) const {
    for (;;) {
      if (const auto rank = propose(random.uniform())) return *rank;
    }
  }

  // Returns the rank that a uniform in (0, 1) leads to, unless it is rejected.
  std::optional<std::uint64_t> propose(double uniform) const;

 private:
  double density(double x) const;
  double integral(double x) const;  // integral of the density, from 1 to x
  double inverse(double area) const;

  double ranks_;
  double exponent_;
  double first_area_;  // the proposals' integrals lie between these two
  double last_area_;
  double always_;  // a proposal x at most this much below its rank is accepted without a test
};

inline constexpr double kMaxZipfExponent = 10.0;

// Look-ups follow Zipf's law, or are uniform if the exponent is 0. The rows that are looked up most
// are scattered over the table, as they are in practice.
struct AccessLaw {
  double zipf_exponent = 0.0;
};

// The probability that a look-up meets a row, for rows in the order of their ranks.
class AccessOdds {
 public:
  AccessOdds(AccessLaw law, RowId rows);

  RowId row(std::uint64_t rank) const { return scatter_(rank); }
  double probability(std::uint64_t rank) const;

 private:
  AccessLaw law_;
  Scatter scatter_;
  double norm_;  // the sum of 1 / (k + 1)^exponent over ranks k
};

}  // namespace lazydp
