#include "lazydp/data/number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <string>

namespace lazydp {
namespace {

template <class Number>
std::errc whole(std::string_view text, Number& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc()) return error;
  return stop == end ? std::errc() : std::errc::invalid_argument;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

// Removes the commas from "1,234,567.8"; returns nothing unless they stand before groups of three
// digits.
std::string without_commas(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t first = text.find(',');
  if (first == sign || first > sign + 3 || first >= point) return {};
  std::string out(text.substr(0, first));
  for (std::size_t comma = first; comma < point; comma += 4) {
    if (text[comma] != ',' || comma + 4 > point) return {};
    out += text.substr(comma + 1, 3);
  }
  if (!std::all_of(out.begin() + static_cast<std::ptrdiff_t>(sign), out.end(), is_digit)) return {};
  return out.append(text.substr(point));
}

// Reads fixed numbers of digits off the front of a text.
class Digits {
 public:
  explicit Digits(std::string_view text) : rest_(text) {}

  // Takes `count` digits, a number of at most `most`.
  bool take(std::size_t count, int most, int& out) {
    if (rest_.size() < count || !std::all_of(rest_.begin(), rest_.begin() + count, is_digit)) {
      return false;
    }
    out = 0;
    for (const char c : rest_.substr(0, count)) out = out * 10 + (c - '0');
    rest_.remove_prefix(count);
    return out <= most;
  }
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Takes the digits behind a point.
  bool take_fraction(double& out) {
    const auto stop = std::ranges::find_if_not(rest_, is_digit);
    const auto count = static_cast<std::size_t>(stop - rest_.begin());
    if (count == 0) return false;
    const std::string text = "0." + std::string(rest_.substr(0, count));
    rest_.remove_prefix(count);
    return whole<double>(text, out) == std::errc();
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Takes the end of a time: nothing, "Z", " UTC", or a distance from UTC such as "+02:00".
bool take_zone(Digits& digits, int& minutes_east) {
  minutes_east = 0;
  if (digits.rest().empty() || digits.rest() == "Z" || digits.rest() == " UTC") return true;
  const bool east = digits.take('+');
  if (!east && !digits.take('-')) return false;
  int hours = 0;
  int minutes = 0;
  if (!digits.take(2, 23, hours)) return false;
  digits.take(':');
  if (!digits.rest().empty() && !digits.take(2, 59, minutes)) return false;
  minutes_east = (east ? 1 : -1) * (hours * 60 + minutes);
  return digits.rest().empty();
}

}  // namespace

std::errc parse_time(std::string_view text, double& seconds) {
  constexpr auto kBad = std::errc::invalid_argument;
  Digits digits(text);
  int year = 0;
  int month = 0;
  int day = 0;
  if (!digits.take(4, 9999, year) || !digits.take('-') || !digits.take(2, 12, month) ||
      !digits.take('-') || !digits.take(2, 31, day)) {
    return kBad;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return kBad;
  int hours = 0;
  int minutes = 0;
  int full_seconds = 0;
  int minutes_east = 0;
  double fraction = 0.0;
  if (!digits.rest().empty()) {
    if (!digits.take('T') && !digits.take(' ')) return kBad;
    if (!digits.take(2, 23, hours) || !digits.take(':') || !digits.take(2, 59, minutes)) {
      return kBad;
    }
    if (digits.take(':')) {
      if (!digits.take(2, 60, full_seconds)) return kBad;  // 60: a leap second
      if (digits.take('.') && !digits.take_fraction(fraction)) return kBad;
    }
    if (!take_zone(digits, minutes_east)) return kBad;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t all = ((days * 24 + hours) * 60 + minutes - minutes_east) * 60 + full_seconds;
  seconds = static_cast<double>(all) + fraction;
  return std::errc();
}

double seconds_of(std::int64_t time, std::int64_t parts_per_second) {
  std::int64_t full = time / parts_per_second;
  std::int64_t parts = time % parts_per_second;
  if (parts < 0) {
    --full;
    parts += parts_per_second;
  }
  return static_cast<double>(full) +
         static_cast<double>(parts) / static_cast<double>(parts_per_second);
}

std::errc parse_number(std::string_view text, double& out) {
  text = without_plus(text);
  const std::errc plain = whole(text, out);
  if (plain == std::errc() || plain == std::errc::result_out_of_range) return plain;
  if (text.find(',') != std::string_view::npos) return whole<double>(without_commas(text), out);
  return parse_time(text, out);
}

std::errc parse_number(std::string_view text, std::int64_t& out) {
  text = without_plus(text);
  const std::errc plain = whole(text, out);
  if (plain == std::errc() || plain == std::errc::result_out_of_range) return plain;
  return whole<std::int64_t>(without_commas(text), out);
}

}  // namespace lazydp
