#include "lazydp/cli/run/model_options.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {
namespace {

constexpr std::uint64_t kManyTables = 65'000;
constexpr std::uint64_t kAnySize = std::uint64_t{1} << 40;  // ModelShape::validate limits it

// Parses 13-64-16; a config file's list arrives as 13,64,16.
std::vector<std::size_t> parse_widths(std::string_view name, const std::string& text) {
  std::vector<std::size_t> widths;
  for (const std::string& part : parts_of(text, "-,")) {
    widths.push_back(whole_number(name, part, 1, kAnySize));
  }
  return widths;
}

Pooling parse_pooling_mode(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, Pooling>, 2> kModes = {
      {{"sum", Pooling::sum}, {"mean", Pooling::mean}}};
  return choice("pooling-mode", text, kModes);
}

// Rows that no example can look up would only cost noise; rows that are missing could not be looked
// up.
void take_sizes_of(const FlagTexts& given, const TrainingFile& data, ModelShape& shape) {
  for (const auto& [flag, name] : {std::pair(&FlagTexts::scale, "scale"),
                                   {&FlagTexts::rows, "rows"},
                                   {&FlagTexts::pooling, "pooling"}}) {
    if (given.*flag) {
      throw UserError(std::string(name) + " is '" + *(given.*flag) +
                      "', but data is given, whose schema says that; convert it with other rows");
    }
  }
  shape.table_rows = data.file->table_rows();
  shape.pooling = 1;
  shape.bottom.front() = data.file->dense_features();
  shape.name = given.model ? *given.model + " for this data" : "a model for this data";
}

}  // namespace

std::vector<RowId> parse_rows(const std::string& text) {
  std::vector<RowId> rows;
  for (const std::string& part : parts_of(text, ",")) {
    const std::size_t times = part.find('x');
    const bool repeated = times != std::string::npos;
    const std::uint64_t count =
        repeated ? whole_number("rows", part.substr(0, times), 1, kManyTables) : 1;
    const std::uint64_t size =
        whole_number("rows", repeated ? part.substr(times + 1) : part, 1, kAnySize - 1);
    rows.insert(rows.end(), count, static_cast<RowId>(size));
    if (rows.size() > kManyTables) {
      refuse("rows", text, "at most " + std::to_string(kManyTables) + " tables");
    }
  }
  return rows;
}

ModelChoice choose_model(const FlagTexts& given, const TrainingFile* data) {
  ModelChoice choice;
  choice.named = given.model.value_or("small");
  if (given.scale) choice.scale = positive("scale", *given.scale);
  if (given.scale && given.rows) {
    throw UserError("scale and rows are both given; rows says how many rows there are by itself");
  }
  ModelShape& shape = choice.shape = named_shape(choice.named, choice.scale);

  if (data != nullptr) take_sizes_of(given, *data, shape);
  if (given.rows) shape.table_rows = parse_rows(*given.rows);
  if (given.dim) shape.dim = whole_number("dim", *given.dim, 1, kAnySize);
  if (given.bottom) shape.bottom = parse_widths("bottom", *given.bottom);
  if (given.top) shape.top = parse_widths("top", *given.top);
  if (given.pooling) shape.pooling = whole_number("pooling", *given.pooling, 1, kAnySize);
  if (given.pooling_mode) shape.mode = parse_pooling_mode(*given.pooling_mode);
  if (given.rows || given.dim || given.bottom || given.top) shape.name = "custom";
  shape.validate();
  return choice;
}

}  // namespace lazydp::cli
