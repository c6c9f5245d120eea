#include "lazydp/data/training_data.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/data/schema_json.h"

namespace lazydp {

namespace {

std::size_t key_column(const DataFile& file, const char* flag, const std::string& name) {
  std::string allowed = flag == std::string("split-by")   ? "position"
                        : flag == std::string("group-by") ? "none"
                                                          : "example";
  const std::vector<const Column*> keys = file.schema().keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i]->name == name) return i;
    allowed += " or " + keys[i]->name;
  }
  refuse(flag, name, allowed + "; columns with key = true in the schema can be named");
}

// Says which data files the claim is about: neighbours that also differ in one unit after the
// split.
std::string neighbours_in_words(const std::string& column, bool by_unit, bool whole) {
  const std::string unit = by_unit ? "unit, with all its examples" : "example";
  if (column != "position" || whole) {
    return "data files of which one has one " + unit + ", more: no other one changes sides";
  }
  return "data files of which one has one example more, where the other has nothing in its place "
         "(or has ended): which side an example is on depends on its position alone, so no other "
         "one changes sides";
}

GroupOf group_in(std::shared_ptr<const DataFile> file, std::size_t key) {
  return [file = std::move(file), key](ExampleId i) { return file->key_of(i, key); };
}

GroupOf group_in(std::shared_ptr<const Part> part, std::size_t key) {
  return [part = std::move(part), key](ExampleId i) {
    return part->file().key_of(part->in_file(i), key);
  };
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

std::shared_ptr<const TrainingFile> open_training_file(const TrainingFileOptions& options) {
  auto choice = std::make_shared<TrainingFile>();
  choice->file = std::make_shared<const DataFile>(options.path);
  const DataFile& file = *choice->file;
  const SplitShares shares{.validation = options.validation.share, .test = options.test.share};

  // All examples of a unit must be on one side, or a statement about a unit would be about parts of
  // it.
  const bool by_unit = options.privacy_unit.has_value();
  std::string column = options.split_by.value_or(by_unit ? *options.privacy_unit : "position");
  if (by_unit && column != *options.privacy_unit) {
    throw UserError("split-by is '" + column + "' and privacy-unit is '" + *options.privacy_unit +
                    "'; splits are by unit");
  }
  Split split =
      column == "position"
          ? split_by_position(choice->file, shares)
          : split_by_key(choice->file,
                         key_column(file, options.split_by ? "split-by" : "privacy-unit", column),
                         shares);
  // If nothing is held out there is nothing to hash; this wording lets runs of earlier versions
  // resume.
  const bool whole = options.test.share == 0.0 && options.validation.share == 0.0;
  choice->split = column == "position" && whole ? "by position" : "by the hash of " + column;
  choice->neighbours = neighbours_in_words(column, by_unit, whole);
  if (options.test.share > 0.0) choice->split += ", " + percent(options.test.share) + " held out";
  if (options.validation.share > 0.0)
    choice->split += ", " + percent(options.validation.share) + " for validation";
  choice->train = std::move(split.train);
  choice->group_by = options.group_by;
  const std::size_t group = options.group_by ? key_column(file, "group-by", *options.group_by) : 0;
  if (options.group_by) choice->file_group = group_in(choice->file, group);
  const auto hold_out = [&](const HeldOut& what, std::unique_ptr<Part> share,
                            std::shared_ptr<const Dataset>& part, GroupOf& group_of) {
    const auto take = [&](auto data) {
      part = data;
      if (data && options.group_by) group_of = group_in(std::move(data), group);
    };
    if (what.path.empty()) return take(std::shared_ptr<const Part>(std::move(share)));
    auto other = std::make_shared<const DataFile>(what.path);
    require_same_columns(file, *other);
    take(std::move(other));
  };
  hold_out(options.validation, std::move(split.validation), choice->validation,
           choice->validation_group);
  hold_out(options.test, std::move(split.test), choice->test, choice->test_group);
  if (by_unit) {
    choice->units = std::make_shared<const PrivacyUnits>(
        PrivacyUnits::of(*choice->train, key_column(file, "privacy-unit", column)));
    choice->unit = "all examples of one value of " + column +
                   " (an example without one stands for itself); what other examples say about "
                   "that value is not protected";
  }
  return choice;
}

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
            .validation_group = source.file->validation_group,
            .held_out_group = source.file->test_group,
            .bayes_auc = kNone,
            .bayes_logloss = kNone,
            .file = source.file};
  }
  if (const auto* size = std::get_if<ClickSize>(&source.what)) {
    ClickTask click = make_click_task(*size);
    return {.train = std::move(click.train),
            .validation = nullptr,
            .held_out = std::move(click.held_out),
            .validation_group = {},
            .held_out_group = {},
            .bayes_auc = click.bayes_auc,
            .bayes_logloss = click.bayes_logloss,
            .file = nullptr};
  }
  timing.examples = source.examples();
  return {.train = make_timing_dataset(timing, std::get<AccessLaw>(source.what)),
          .validation = nullptr,
          .held_out = nullptr,
          .validation_group = {},
          .held_out_group = {},
          .bayes_auc = kNone,
          .bayes_logloss = kNone,
          .file = nullptr};
}

}  // namespace lazydp
