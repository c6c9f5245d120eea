#include "lazydp/data/training_data.h"

#include <filesystem>
#include <limits>
#include <utility>

#include "lazydp/data/schema_json.h"

namespace lazydp {

std::uint64_t DataSource::examples() const {
  if (file) return file->population();
  const auto* size = std::get_if<ClickSize>(&what);
  return size != nullptr ? ClickShape::of(*size).train : timing_examples;
}

double DataSource::bytes() const {
  if (file) return 0.0;  // the file is mapped: pages that were read may leave memory again
  const auto* size = std::get_if<ClickSize>(&what);
  if (size == nullptr) return 0.0;
  const ClickShape shape = ClickShape::of(*size);
  constexpr double kClickBytes = 85.0;  // bytes an example
  return kClickBytes * static_cast<double>(shape.train + shape.held_out);
}

Json card_of(const DataSource& source) {
  if (!source.file) return {{"name", source.name}, {"examples", source.examples()}};
  const TrainingFile& data = *source.file;
  return {{"name", std::filesystem::path(source.name).filename().string()},
          {data.units ? "units" : "examples", source.examples()},
          {"privacy_unit", data.unit},
          {"split", data.split},
          {"neighbours", data.neighbours},
          {"schema", json_of(data.file->schema())}};
}

Json identity_of(const DataSource& source) {
  if (!source.file) return source.name;
  const TrainingFile& data = *source.file;
  return {{"data_checksum", std::to_string(data.file->header().checksum)},
          {"split", data.split},
          {"privacy_unit", data.unit}};
}

TrainingData load_data(const DataSource& source, TimingShape timing) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (source.file) {
    return {.train = source.file->train,
            .validation = source.file->validation,
            .held_out = source.file->test,
            .bayes_auc = kNone,
            .bayes_logloss = kNone,
            .file = source.file};
  }
  if (const auto* size = std::get_if<ClickSize>(&source.what)) {
    ClickTask click = make_click_task(*size);
    return {.train = std::move(click.train),
            .validation = nullptr,
            .held_out = std::move(click.held_out),
            .bayes_auc = click.bayes_auc,
            .bayes_logloss = click.bayes_logloss,
            .file = nullptr};
  }
  timing.examples = source.examples();
  return {.train = make_timing_dataset(timing, std::get<AccessLaw>(source.what)),
          .validation = nullptr,
          .held_out = nullptr,
          .bayes_auc = kNone,
          .bayes_logloss = kNone,
          .file = nullptr};
}

}  // namespace lazydp
