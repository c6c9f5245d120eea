#include "lazydp/cli/run/training_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/schema_json.h"
#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/report/number_text.h"

namespace lazydp::cli {

namespace {

// What --test and --validation say: a share of the data, or a file of its own.
struct HeldOut {
  double share = 0.0;
  std::shared_ptr<const DataFile> file;
};

HeldOut choose_held_out(const char* name, const Text& text, double usual_share) {
  if (!text) return {.share = usual_share, .file = nullptr};
  if (const auto share = number(*text)) {
    if (!(*share >= 0.0 && *share < 1.0)) {
      refuse(name, *text, "a share from 0 to below 1, for example 0.1, or a data file");
    }
    return {.share = *share, .file = nullptr};
  }
  return {.share = 0.0, .file = std::make_shared<const DataFile>(*text)};
}

std::size_t key_column(const DataFile& file, const char* flag, const std::string& name) {
  std::string allowed = flag == std::string("split-by") ? "position" : "example";
  const std::vector<const Column*> keys = file.schema().keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i]->name == name) return i;
    allowed += " or " + keys[i]->name;
  }
  refuse(flag, name, allowed + "; columns with key = true in the schema can be named");
}

// Which data files the claim tells apart: those that also differ in one unit after the split.
std::string neighbours_in_words(const std::string& column, bool by_unit, bool whole) {
  const std::string unit = by_unit ? "unit, with all its examples" : "example";
  if (column != "position" || whole) {
    return "data files of which one has one " + unit + ", more: no other one changes sides";
  }
  return "data files of which one has one example more, where the other has nothing in its place "
         "(or has ended): which side an example is on depends on its position alone, so no other "
         "one changes sides";
}

std::string percent(double share) {
  return shortest(100.0 * share) + " %";
}

}  // namespace

void require_same_columns(const DataFile& train, const DataFile& other) {
  const std::string what = first_difference(json_of(train.schema()), json_of(other.schema()));
  if (what.empty()) return;
  throw UserError("'" + other.path() + "' does not go with '" + train.path() + "': " + what +
                  "; convert it with --schema " + train.path());
}

std::shared_ptr<const DataChoice> choose_data(const Given& given) {
  if (!given.data) {
    for (const auto& [flag, name] : {std::pair(&Given::test, "test"),
                                     {&Given::validation, "validation"},
                                     {&Given::split_by, "split-by"},
                                     {&Given::privacy_unit, "privacy-unit"}}) {
      if (given.*flag)
        throw UserError(std::string(name) + " is given, but no data; it needs --data");
    }
    return nullptr;
  }
  if (given.synthetic) {
    throw UserError("data and synthetic are both given; give one of the two");
  }
  auto choice = std::make_shared<DataChoice>();
  choice->file = std::make_shared<const DataFile>(*given.data);
  const DataFile& file = *choice->file;

  constexpr double kUsualTest = 0.1;
  const HeldOut test = choose_held_out("test", given.test, kUsualTest);
  const HeldOut validation = choose_held_out("validation", given.validation, 0.0);
  const SplitShares shares{.validation = validation.share, .test = test.share};
  if (shares.validation + shares.test >= 1.0) {
    throw UserError(
        "test and validation take all examples; their shares must leave some to train on");
  }

  // All examples of a unit are on one side, or what is said about a unit would be about parts of
  // it.
  const bool by_unit = given.privacy_unit && *given.privacy_unit != "example";
  std::string column = given.split_by.value_or(by_unit ? *given.privacy_unit : "position");
  if (by_unit && column != *given.privacy_unit) {
    throw UserError("split-by is '" + column + "' and privacy-unit is '" + *given.privacy_unit +
                    "'; splits are by unit");
  }
  Split split =
      column == "position"
          ? split_by_position(choice->file, shares)
          : split_by_key(choice->file,
                         key_column(file, given.split_by ? "split-by" : "privacy-unit", column),
                         shares);
  // Where nothing is held out there is nothing to hash, and runs of earlier versions go on.
  const bool whole = test.share == 0.0 && validation.share == 0.0;
  choice->split = column == "position" && whole ? "by position" : "by the hash of " + column;
  choice->neighbours = neighbours_in_words(column, by_unit, whole);
  if (test.share > 0.0) choice->split += ", " + percent(test.share) + " held out";
  if (validation.share > 0.0) choice->split += ", " + percent(validation.share) + " for validation";
  choice->train = std::move(split.train);
  choice->validation = std::move(split.validation);
  choice->test = std::move(split.test);
  for (const auto& [held_out, part] :
       {std::pair(&test, &choice->test), {&validation, &choice->validation}}) {
    if (!held_out->file) continue;
    require_same_columns(file, *held_out->file);
    *part = held_out->file;
  }
  if (by_unit) {
    choice->units = std::make_shared<const Units>(
        Units::of(*choice->train, key_column(file, "privacy-unit", column)));
    choice->unit = "all examples of one value of " + column +
                   " (an example without one stands for itself); what other examples say about "
                   "that value is not protected";
  }
  return choice;
}

namespace {

constexpr double kClickBytes = 85.0;  // an example

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

std::uint64_t TaskChoice::examples() const {
  if (file) return file->population();
  const auto* size = std::get_if<ClickSize>(&what);
  return size != nullptr ? ClickShape::of(*size).train : timing_examples;
}

double TaskChoice::bytes() const {
  if (file) return 0.0;  // it is mapped: what was read may leave memory again
  const auto* size = std::get_if<ClickSize>(&what);
  if (size == nullptr) return 0.0;
  const ClickShape shape = ClickShape::of(*size);
  return kClickBytes * static_cast<double>(shape.train + shape.held_out);
}

TaskChoice choose_task(const Given& given, const ModelChoice& model,
                       std::shared_ptr<const DataChoice> file) {
  if (file) return {.name = *given.data, .what = {}, .file = std::move(file)};
  const bool learns = model.named == "small" && fits_click(model.shape, ClickSize::small);
  TaskChoice task;
  task.name = given.synthetic.value_or(learns ? "click" : "uniform");
  task.what = parse_synthetic(task.name);
  const auto* size = std::get_if<ClickSize>(&task.what);
  if (size != nullptr && !fits_click(model.shape, *size)) {
    refuse_click(task.name, *size, model.shape);
  }
  return task;
}

Task make_task(const TaskChoice& choice, const ModelShape& shape) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (choice.file) {
    return {.train = choice.file->train,
            .validation = choice.file->validation,
            .held_out = choice.file->test,
            .bayes_auc = kNone,
            .bayes_logloss = kNone,
            .file = choice.file};
  }
  if (const auto* size = std::get_if<ClickSize>(&choice.what)) {
    ClickTask click = make_click_task(*size);
    return {.train = std::move(click.train),
            .validation = nullptr,
            .held_out = std::move(click.held_out),
            .bayes_auc = click.bayes_auc,
            .bayes_logloss = click.bayes_logloss,
            .file = nullptr};
  }
  const TimingShape timing{.examples = choice.examples(),
                           .dense_features = shape.dense_features(),
                           .table_rows = shape.table_rows,
                           .pooling = shape.pooling};
  return {.train = make_timing_dataset(timing, std::get<AccessLaw>(choice.what)),
          .validation = nullptr,
          .held_out = nullptr,
          .bayes_auc = kNone,
          .bayes_logloss = kNone,
          .file = nullptr};
}

}  // namespace lazydp::cli
