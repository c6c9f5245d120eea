#include "lazydp/train/correlation_text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/text/toml.h"

namespace lazydp {
namespace {

static_assert(Correlation::kMostBands == kMostBands, "what can be drawn can be accounted for");

[[noreturn]] void refuse(std::string_view text) {
  throw UserError("correlation is '" + std::string(text) +
                  "'; it must be independent, lambda, lambda:L with L from 0 to below 1 (for "
                  "example lambda:0.9), or bisr:B with B from 1 to " +
                  std::to_string(kMostBands));
}

// Returns the number behind `prefix`, if the text is that.
template <class Number>
std::optional<Number> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::vector<double> bands_of(std::string_view text, const Participation& planned) {
  if (text == "independent") return independent_bands();
  if (text == "lambda") return lambda_bands(best_lambda(planned));
  const auto lambda = number_behind<double>(text, "lambda:");
  if (lambda && *lambda >= 0.0 && *lambda < 1.0) return lambda_bands(*lambda);
  const auto bands = number_behind<std::uint64_t>(text, "bisr:");
  if (bands && *bands >= 1 && *bands <= kMostBands) return bisr_bands(*bands);
  refuse(text);
}

}  // namespace

Correlation parse_correlation(std::string_view text, const Participation& planned) {
  return Correlation(bands_of(text, planned));
}

std::string text_of(const Correlation& correlation) {
  const std::span<const double> bands = correlation.bands();
  if (bands.size() == 1) return "independent";
  if (bands.size() == 2) return "lambda:" + exact_text(-bands[1]);  // bisr:2 is lambda:0.5
  check(std::ranges::equal(bands, bisr_bands(bands.size())), "bands that users can ask for");
  return "bisr:" + std::to_string(bands.size());
}

std::string in_words(const Correlation& correlation) {
  const std::span<const double> bands = correlation.bands();
  if (bands.size() == 1) return "no band";
  const std::string text = text_of(correlation);
  if (text.starts_with("bisr")) {
    return text + " (each step takes back parts of the noise of the " +
           std::to_string(bands.size() - 1) + " before it)";
  }
  return text + " (each step takes back that part of the noise that the one before it added)";
}

}  // namespace lazydp
