#include "lazydp/cli/options/initial_options.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/model/model.h"
#include "lazydp/train/claim.h"

namespace lazydp::cli {
namespace {

const Schema* schema_of(const RunOptions& options) {
  return options.task.file ? &options.task.file->file->schema() : nullptr;
}

// Every part that can be frozen, under each name it has: indices of tables, names of layers.
class Parts {
 public:
  explicit Parts(const RunOptions& options)
      : tables_(options.model.shape.tables()),
        layers_(layer_names(*make_model(options.model.shape))) {
    if (const Schema* schema = schema_of(options)) {
      for (const Column* column : schema->tables()) columns_.push_back(column->name);
    }
  }

  // Adds the parts of this name. Returns whether there are any.
  bool freeze(const std::string& name) {
    bool found = false;
    for (std::size_t k = 0; k < tables_; ++k) {
      const bool this_one = name == "tables" || name == "tables." + std::to_string(k);
      if (this_one) frozen_tables_.insert(k);
      found = found || this_one;
    }
    for (const std::string& layer : layers_) {
      const bool this_one =
          name == "dense" || name == layer || name == layer.substr(0, layer.find('.'));
      if (this_one) frozen_layers_.insert(layer);
      found = found || this_one;
    }
    const auto column = std::ranges::find(columns_, name);
    if (found || column == columns_.end()) return found;
    frozen_tables_.insert(static_cast<std::size_t>(column - columns_.begin()));
    return true;
  }

  bool none_left() const {
    return frozen_tables_.size() == tables_ && frozen_layers_.size() == layers_.size();
  }

  FrozenParts frozen() const {
    FrozenParts parts;
    parts.tables.assign(frozen_tables_.begin(), frozen_tables_.end());
    std::ranges::copy_if(layers_, std::back_inserter(parts.layers),
                         [&](const std::string& layer) { return frozen_layers_.contains(layer); });
    return parts;
  }

  std::string allowed() const {
    std::string text = "a list of tables, dense, bottom, top";
    for (const std::string& layer : layers_) text += ", " + layer;
    text += ", tables.0 to tables." + std::to_string(tables_ - 1);
    for (const std::string& column : columns_) text += ", " + column;
    return text;
  }

 private:
  std::size_t tables_;
  std::vector<std::string> layers_;
  std::vector<std::string> columns_;  // of the tables; empty for made-up data
  std::set<std::size_t> frozen_tables_;
  std::set<std::string> frozen_layers_;
};

}  // namespace

std::shared_ptr<const InitialWeights> choose_initial_weights(const FlagTexts& given) {
  const bool is_public = given.init_is_public && truth("init-is-public", *given.init_is_public);
  if (!given.init) {
    if (is_public) throw UserError("init-is-public is given, but no model; it needs --init");
    return nullptr;
  }
  return std::make_shared<const InitialWeights>(
      *given.init, is_public ? Provenance::declared_public : Provenance::card);
}

FrozenParts choose_frozen(const FlagTexts& given, const RunOptions& options) {
  if (!given.freeze) return {};
  Parts parts(options);
  for (const std::string& name : parts_of(*given.freeze, ",")) {
    if (!parts.freeze(name)) refuse("freeze", *given.freeze, parts.allowed());
  }
  if (parts.none_left()) {
    throw UserError("freeze is '" + *given.freeze + "', which leaves nothing to train");
  }
  return parts.frozen();
}

void require_sound_beginning(const FlagTexts& given, const RunOptions& options) {
  if (!options.initial) return;
  options.initial->require_fits(options.model.shape, schema_of(options));
  const bool claims = no_claim(options.plan, !options.seed, options.sampling).empty();
  const InitialModel& model = options.initial->model();
  if (!claims || model.declared_public) return;
  const std::string what = "init is '" + *given.init + "', ";
  if (!model.no_claim.empty()) {
    throw PrivacyError(what + "for which nothing is claimed (" + model.no_claim +
                       "), so nothing could be claimed for a model that begins with it; if it is "
                       "public, say so with --init-is-public");
  }
  const std::string unit =
      (options.task.file ? options.task.file->unit : std::string(kExampleUnit)) +
      ", added or removed";
  if (model.unit != unit) {
    throw PrivacyError(what + "whose claim is about " + model.unit + ", and this run's about " +
                       unit +
                       ": they do not add up; choose the same --privacy-unit, or, if the "
                       "model is public, say so with --init-is-public");
  }
}

std::string beginning_in_words(const RunOptions& options) {
  std::string text;
  if (options.initial) text = "with a model, " + in_words(options.initial->model());
  const FrozenParts& frozen = options.plan.frozen;
  std::string names;
  for (const std::size_t k : frozen.tables) names += " tables." + std::to_string(k);
  for (const std::string& layer : frozen.layers) names += " " + layer;
  if (names.empty()) return text;
  return text + (text.empty() ? "" : "; ") + "frozen:" + names;
}

}  // namespace lazydp::cli
