#include "lazydp/cli/options/model_and_data_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "lazydp/base/error.h"
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

Interaction parse_interaction(const std::string& text) {
  return choice("interaction", text, kInteractions);
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

ModelChoice choose_model(const FlagTexts& given, const TrainingFile* data,
                         const std::optional<ModelShape>& initial) {
  ModelChoice choice;
  choice.named = given.model.value_or("small");
  if (given.scale) choice.scale = positive("scale", *given.scale);
  if (given.scale && given.rows) {
    throw UserError("scale and rows are both given; rows says how many rows there are by itself");
  }
  const bool as_before = initial && !given.model && !given.scale;
  ModelShape& shape = choice.shape = as_before ? *initial : named_shape(choice.named, choice.scale);

  if (data != nullptr) {
    take_sizes_of(given, *data, shape);
    if (!given.model && !as_before) shape.interaction = Interaction::linear_concat_dot;
  }
  if (given.rows) shape.table_rows = parse_rows(*given.rows);
  if (given.dim) shape.bottom.back() = shape.dim = whole_number("dim", *given.dim, 1, kAnySize);
  if (given.bottom) shape.bottom = parse_widths("bottom", *given.bottom);
  if (given.top) shape.top = parse_widths("top", *given.top);
  if (given.pooling) shape.pooling = whole_number("pooling", *given.pooling, 1, kAnySize);
  if (given.pooling_mode) shape.mode = parse_pooling_mode(*given.pooling_mode);
  if (given.interaction) shape.interaction = parse_interaction(*given.interaction);
  if (given.rows || given.dim || given.bottom || given.top) shape.name = "custom";
  shape.validate();
  return choice;
}

namespace {

// Parses --test and --validation: a share of the data, or a file of its own.
HeldOut choose_held_out(const char* name, const Text& text, double usual_share) {
  if (!text) return {.share = usual_share};
  if (const auto share = number(*text)) {
    if (!(*share >= 0.0 && *share < 1.0)) {
      refuse(name, *text, "a share from 0 to below 1, for example 0.1, or a data file");
    }
    return {.share = *share};
  }
  return {.path = *text};
}

bool fits_click(const ModelShape& shape, ClickSize size) {
  const RowId rows = ClickShape::of(size).rows;
  return shape.dense_features() == kClickFeatures && shape.tables() == kClickTables &&
         shape.pooling == 1 &&
         std::ranges::all_of(shape.table_rows, [rows](RowId n) { return n >= rows; });
}

[[noreturn]] void refuse_click(const std::string& name, ClickSize size, const ModelShape& shape) {
  throw UserError("the model has " + std::to_string(shape.dense_features()) +
                  " dense features and " + std::to_string(shape.tables()) +
                  " tables, the smallest of " + std::to_string(std::ranges::min(shape.table_rows)) +
                  " rows, pooling " + std::to_string(shape.pooling) + "; synthetic " + name +
                  " needs " + std::to_string(kClickFeatures) + ", " + std::to_string(kClickTables) +
                  " of at least " + std::to_string(ClickShape::of(size).rows) +
                  " rows, and pooling 1" +
                  (size == ClickSize::large ? " (for example --model small --scale 10)" : ""));
}

}  // namespace

std::optional<TrainingFileOptions> choose_data_file(const FlagTexts& given) {
  if (!given.data) {
    for (const auto& [flag, name] : {std::pair(&FlagTexts::test, "test"),
                                     {&FlagTexts::validation, "validation"},
                                     {&FlagTexts::split_by, "split-by"},
                                     {&FlagTexts::privacy_unit, "privacy-unit"},
                                     {&FlagTexts::group_by, "group-by"}}) {
      if (given.*flag)
        throw UserError(std::string(name) + " is given, but no data; it needs --data");
    }
    return std::nullopt;
  }
  if (given.synthetic) {
    throw UserError("data and synthetic are both given; give one of the two");
  }

  constexpr double kUsualTest = 0.1;
  TrainingFileOptions options;
  options.path = *given.data;
  options.test = choose_held_out("test", given.test, kUsualTest);
  options.validation = choose_held_out("validation", given.validation, 0.0);
  if (options.validation.share + options.test.share >= 1.0) {
    throw UserError(
        "test and validation take all examples; their shares must leave some to train on");
  }
  options.split_by = given.split_by;
  if (given.privacy_unit && *given.privacy_unit != "example") {
    options.privacy_unit = given.privacy_unit;
  }
  options.group_by = given.group_by ? given.group_by : options.privacy_unit;
  if (options.group_by == "none") options.group_by.reset();
  return options;
}

std::uint64_t choose_cutoff(const FlagTexts& given, bool grouped) {
  constexpr std::uint64_t kUsual = 10, kMost = 1'000'000;
  if (!given.cutoff) return kUsual;
  if (!grouped) {
    throw UserError("cutoff is '" + *given.cutoff +
                    "', but nothing is grouped; it needs --group-by COLUMN");
  }
  return whole_number("cutoff", *given.cutoff, 1, kMost);
}

DataSource choose_source(const FlagTexts& given, const ModelChoice& model,
                         std::shared_ptr<const TrainingFile> file) {
  if (file) return {.name = *given.data, .what = {}, .file = std::move(file)};
  const bool learns = model.named == "small" && fits_click(model.shape, ClickSize::small);
  DataSource source;
  source.name = given.synthetic.value_or(learns ? "click" : "uniform");
  source.what = parse_synthetic(source.name);
  const auto* size = std::get_if<ClickSize>(&source.what);
  if (size != nullptr && !fits_click(model.shape, *size)) {
    refuse_click(source.name, *size, model.shape);
  }
  return source;
}

}  // namespace lazydp::cli
