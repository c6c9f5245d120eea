#pragma once
// The power that a privacy claim leaves an attacker: for every rate of false alarms the least rate
// of misses.

#include <span>
#include <vector>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// A convex, symmetric trade-off function f (Dong, Roth, Su 2019): an attacker that distinguishes
// two neighbouring data sets with false alarms at rate a misses at a rate of at least f(a). Made of
// straight lines, each of which an (epsilon, delta) guarantees; between them it is below the truth,
// so that evidence against it is evidence against the claim.
class TradeOff {
 public:
  struct Point {
    double epsilon;  // >= 0
    double delta;    // in [0, 1]
  };

  // Takes a mechanism that is (epsilon, delta)-differentially private for each of the points.
  // Throws UserError for points that no mechanism can have.
  explicit TradeOff(std::span<const Point> points);

  // Returns the trade-off of a ledger, by the tight accountant. Disjoint blocks count as if an
  // example could be in all of them.
  static TradeOff of(const Ledger& ledger);
  // Returns the trade-off of mu-GDP, by its closed form. `mu` is positive and finite.
  static TradeOff gaussian(double mu);

  // Returns the trade-off of an attacker that sees only the sum of all steps, as a released model
  // shows it: an example in the data moves the sum by one clipping norm at every step that samples
  // it. This is not a claim but what an attack can achieve, and so what an audit can hope for: with
  // sampling rates below 1 it is far less than the ledger allows.
  static TradeOff of_sum(const Ledger& ledger);

  // Returns f(a), for a rate of false alarms in [0, 1].
  double least_miss(double false_alarm) const { return least_chance(1 - false_alarm); }

  // Returns the least probability, for one neighbour, of an event that has probability x for the
  // other: f(1 - x), exact for small x too.
  double least_chance(double x) const;

 private:
  struct Line {
    double at_zero, slope;
    double from;  // the largest of all lines from here to where the next begins
  };
  std::vector<Line> lines_;  // lines of least_chance, by slope
};

// Returns the ledger with its noise multiplied by `factor`.
Ledger with_noise_times(const Ledger& ledger, double factor);

}  // namespace lazydp
