#pragma once
// Numbers as people read them.

#include <cstdint>
#include <string>

namespace lazydp {

std::string fixed(double value, int digits);       // 0.7561; "-" for NaN
std::string fixed_up(double value, int digits);    // the same, never below value
std::string shortest(double value);                // 1e-06, 0.02048: six digits at most
std::string rounded_up(double value, int digits);  // so many digits that count; never below value
std::string with_commas(double whole);             // 1,234,567
std::string human_bytes(double bytes);             // 96.1 GB, in powers of 1000
std::string bytes_in_full(double bytes);           // 96.1 GB (96,136,908,288 bytes)
std::string human_duration(double seconds);        // 850 ms, 12 s, 3 min 05 s, 2 h 10 min

}  // namespace lazydp
