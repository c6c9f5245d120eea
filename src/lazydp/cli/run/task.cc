#include "lazydp/cli/run/task.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/data/synthetic/click_task.h"

namespace lazydp::cli {
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
