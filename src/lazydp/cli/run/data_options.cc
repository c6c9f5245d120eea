#include "lazydp/cli/run/data_options.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {
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
                                     {&FlagTexts::privacy_unit, "privacy-unit"}}) {
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
  return options;
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
