// Reads the format strings of the Arrow C data interface.

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/data/arrow/arrow_column.h"
#include "lazydp/data/column_encoder.h"

namespace lazydp {
namespace {

using Kind = ArrowType::Kind;

struct Named {
  std::string_view format;
  ArrowType type;
};

const std::array<Named, 21>& simple_types() {
  static const std::array<Named, 21> types = {{
      {"n", {.kind = Kind::null}},
      {"b", {.kind = Kind::boolean}},
      {"c", {.kind = Kind::integer, .bits = 8}},
      {"C", {.kind = Kind::integer, .bits = 8, .is_signed = false}},
      {"s", {.kind = Kind::integer, .bits = 16}},
      {"S", {.kind = Kind::integer, .bits = 16, .is_signed = false}},
      {"i", {.kind = Kind::integer, .bits = 32}},
      {"I", {.kind = Kind::integer, .bits = 32, .is_signed = false}},
      {"l", {.kind = Kind::integer, .bits = 64}},
      {"L", {.kind = Kind::integer, .bits = 64, .is_signed = false}},
      {"f", {.kind = Kind::real, .bits = 32}},
      {"g", {.kind = Kind::real, .bits = 64}},
      {"u", {.kind = Kind::text, .bits = 32}},
      {"z", {.kind = Kind::text, .bits = 32}},
      {"U", {.kind = Kind::text, .bits = 64}},
      {"Z", {.kind = Kind::text, .bits = 64}},
      {"vu", {.kind = Kind::text_view}},
      {"vz", {.kind = Kind::text_view}},
      {"tdD", {.kind = Kind::time, .bits = 32, .seconds_each = 86'400}},
      {"+l", {.kind = Kind::list, .bits = 32}},
      {"+L", {.kind = Kind::list, .bits = 64}},
  }};
  return types;
}

// Parses "tsu:Europe/Berlin", "tDs", "ttm" and the like; the zone only says how a time is shown.
bool parse_time_type(std::string_view format, ArrowType& type) {
  constexpr std::string_view kUnits = "smun";
  constexpr std::array<std::int64_t, 4> kPerSecond = {1, 1'000, 1'000'000, 1'000'000'000};
  const bool date = format == "tdm";
  const bool of_day = format.starts_with("tt");
  if (!date && !of_day && !format.starts_with("ts") && !format.starts_with("tD")) return false;
  if (format.size() < 3) return false;
  const std::size_t unit = kUnits.find(format[2]);
  if (unit == std::string_view::npos) return false;
  type.kind = Kind::time;
  type.bits = of_day && unit < 2 ? 32 : 64;
  type.per_second = kPerSecond[unit];
  return true;
}

// Parses "d:19,10" or "d:19,10,128".
bool parse_decimal(std::string_view format, ArrowType& type) {
  if (!format.starts_with("d:")) return false;
  const std::size_t comma = format.find(',');
  if (comma == std::string_view::npos) return false;
  std::string_view scale = format.substr(comma + 1);
  const std::size_t more = scale.find(',');
  if (more != std::string_view::npos && scale.substr(more) != ",128") return false;
  scale = scale.substr(0, more);
  type.kind = Kind::decimal;
  const auto end = scale.data() + scale.size();
  return std::from_chars(scale.data(), end, type.scale).ptr == end && type.scale >= 0 &&
         type.scale <= 38;
}

bool parse_fixed_list(std::string_view format, ArrowType& type) {
  if (!format.starts_with("+w:")) return false;
  type.kind = Kind::fixed_list;
  const auto end = format.data() + format.size();
  return std::from_chars(format.data() + 3, end, type.width).ptr == end && type.width >= 0;
}

[[noreturn]] void refuse(const std::string& column, std::string_view format) {
  throw UserError("column " + shown(column) + " has the Arrow type " + shown(format) +
                  ", which is no value of an example; it must be a number, text, truth value, "
                  "time, dictionary, or list of these: cast it first");
}

}  // namespace

ArrowType ArrowType::of(const ArrowSchema& schema, const std::string& column) {
  const std::string_view format = schema.format == nullptr ? "" : schema.format;
  ArrowType type;
  const auto simple = std::ranges::find(simple_types(), format, &Named::format);
  if (simple != simple_types().end()) {
    type = simple->type;
  } else if (!parse_time_type(format, type) && !parse_decimal(format, type) &&
             !parse_fixed_list(format, type)) {
    refuse(column, format);
  }
  if (schema.dictionary != nullptr) {
    if (type.kind != Kind::integer) refuse(column, format);
    type.dictionary = true;
    type.value.push_back(of(*schema.dictionary, column));
  } else if (type.kind == Kind::list || type.kind == Kind::fixed_list) {
    if (schema.n_children != 1) refuse(column, format);
    type.value.push_back(of(*schema.children[0], column));
  }
  const bool nested = !type.value.empty() &&
                      (type.value[0].kind == Kind::list || type.value[0].kind == Kind::fixed_list);
  if (nested) refuse(column, format);
  return type;
}

}  // namespace lazydp
