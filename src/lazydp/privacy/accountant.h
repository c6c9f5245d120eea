#pragma once
// What a ledger costs: the one question that the rest of the library asks of this folder.

#include <string_view>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// rdp: milliseconds, some per cent above the truth. pld: tight, tens of milliseconds and more.
enum class Accountant { rdp, pld };

// Throws UserError that lists the names there are.
Accountant accountant_from_name(std::string_view name);
// And back.
std::string_view accountant_name(Accountant accountant);

// The run that `ledger` records is (epsilon, delta)-differentially private for adding or removing
// one example: the smallest epsilon the accountant can prove for `delta`. Nothing recorded costs
// nothing; without noise epsilon is infinite. Throws UserError unless 0 < delta < 1.
double epsilon(const Ledger& ledger, double delta, Accountant accountant);

// The other way round: the smallest delta for `epsilon`. Throws UserError unless 0 <= epsilon.
double delta(const Ledger& ledger, double epsilon, Accountant accountant);

}  // namespace lazydp
