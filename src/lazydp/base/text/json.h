#pragma once
// JSON whose keys keep their order, and checked whole numbers from untrusted files.

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lazydp {

// Equal values serialize to equal bytes.
using Json = nlohmann::ordered_json;

// Returns a number from an untrusted file. Throws Json::exception unless it is a whole number, not
// negative, that fits: Json's own get() converts fractions and numbers that do not fit silently.
template <std::integral Number>
Number natural(const Json& json) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  const bool negative = json.is_number_integer() && !json.is_number_unsigned() &&
                        json.get<Json::number_integer_t>() < 0;
  if (!json.is_number_integer() || negative || json.get<std::uint64_t>() > kMost) {
    constexpr int kOutOfRange = 401;
    throw Json::out_of_range::create(kOutOfRange,
                                     (json.is_number() ? json.dump() : json.type_name()) +
                                         " where a whole number from 0 to " +
                                         std::to_string(kMost) + " must be",
                                     &json);
  }
  return static_cast<Number>(json.get<std::uint64_t>());
}

template <std::integral Number>
std::vector<Number> naturals(const Json& json) {
  std::vector<Number> numbers;
  for (const Json& number : json.get_ref<const Json::array_t&>()) {
    numbers.push_back(natural<Number>(number));
  }
  return numbers;
}

}  // namespace lazydp
