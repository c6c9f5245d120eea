#include "lazydp/base/text/number_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace lazydp {

namespace {

template <class... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

}  // namespace

std::string fixed(double value, int digits) {
  return std::isnan(value) ? "-" : printed("%.*f", digits, value);
}

std::string fixed_up(double value, int digits) {
  std::string nearest = fixed(value, digits);
  if (!std::isfinite(value) || std::stod(nearest) >= value) return nearest;
  return fixed(std::stod(nearest) + std::pow(10.0, -digits), digits);
}

std::string shortest(double value) {
  return printed("%g", value);
}

std::string rounded_up(double value, int digits) {
  std::string nearest = printed("%.*g", digits, value);
  if (!(value > 0.0) || !std::isfinite(value) || std::stod(nearest) >= value) return nearest;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - (digits - 1));
  return printed("%.*g", digits, std::stod(nearest) + unit);
}

std::string with_commas(double whole) {
  const std::string digits = printed("%.0f", whole);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool group = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
    if (group) text += ',';
    text += digits[i];
  }
  return text;
}

std::string human_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000.0) return printed("%.0f bytes", bytes);
  std::size_t unit = 0;
  for (bytes /= 1000.0; bytes >= 999.95 && unit + 1 < kUnits.size(); bytes /= 1000.0) ++unit;
  return printed("%.1f ", bytes) + std::string(kUnits[unit]);
}

std::string bytes_in_full(double bytes) {
  return human_bytes(bytes) + " (" + with_commas(bytes) + " bytes)";
}

std::string human_duration(double seconds) {
  if (seconds < 1.0) return printed("%.0f ms", seconds * 1e3);
  if (seconds < 10.0) return printed("%.1f s", seconds);
  if (seconds < 60.0) return printed("%.0f s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return printed("%lld min %02lld s", whole / 60, whole % 60);
  return printed("%lld h %02lld min", whole / 3600, whole % 3600 / 60);
}

}  // namespace lazydp
