#include "lazydp/data/synthetic/synthetic.h"

#include <charconv>
#include <optional>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/data/synthetic/zipf.h"

namespace lazydp {
namespace {

struct NamedData {
  std::string_view name;
  Synthetic value;
};

// The exponents of `skew` are those that give 90 % at 39,884,406 rows.
constexpr NamedData kNamed[] = {
    {"click", ClickSize::small},   {"click:large", ClickSize::large},
    {"uniform", AccessLaw{0.0}},   {"skew:36", AccessLaw{0.924}},
    {"skew:10", AccessLaw{1.029}}, {"skew:0.6", AccessLaw{1.130}},
};

// All of `text` as an exponent that Zipf takes.
std::optional<double> parse_exponent(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stop == end;
  if (!whole || !(value > 0.0 && value <= kMaxZipfExponent)) return std::nullopt;
  return value;
}

}  // namespace

Synthetic parse_synthetic(std::string_view name) {
  for (const NamedData& named : kNamed) {
    if (name == named.name) return named.value;
  }
  constexpr std::string_view kZipf = "zipf:";
  if (name.starts_with(kZipf)) {
    if (const auto exponent = parse_exponent(name.substr(kZipf.size()))) {
      return AccessLaw{*exponent};
    }
  }
  throw UserError(
      "synthetic is '" + std::string(name) +
      "'; it must be click, click:large, uniform, skew:36, skew:10, skew:0.6, or zipf:S "
      "with S above 0 and at most 10, for example zipf:1.05");
}

}  // namespace lazydp
