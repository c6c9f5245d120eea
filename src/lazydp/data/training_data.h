#pragma once
// The data that a run learns from: a file, or a synthetic task.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lazydp/base/text/json.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/data/training_file.h"

namespace lazydp {

// Where the data comes from. A file is open; a synthetic task has not been made yet.
struct DataSource {
  std::string name;  // as --synthetic takes it, or of the file
  Synthetic what;
  std::shared_ptr<const TrainingFile> file;  // null: a synthetic one
  // Of a task to be timed: so many that even the largest tables are looked up all over, and not at
  // the same rows again.
  std::uint64_t timing_examples = std::uint64_t{1} << 26;

  bool learnable() const { return file || std::holds_alternative<ClickSize>(what); }
  bool has_held_out() const { return file ? file->test || file->validation : learnable(); }
  std::string in_words() const { return (file ? "data " : "synthetic ") + name; }
  std::uint64_t examples() const;  // (or units) to train on: the public size of the data
  double bytes() const;            // that holding it takes
};

// Public: its name, its size, what was protected, and the schema that new data needs. A released
// model's card says it.
Json card_of(const DataSource& source);

// Equal for equal data, split and protected in the same way, wherever the file lies. Tells whether
// a run goes on with its own data.
Json identity_of(const DataSource& source);

// The examples of a run, in their parts.
struct TrainingData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  // looked at while training; null: held_out
  std::shared_ptr<const Dataset> held_out;    // null where there is nothing to learn
  double bayes_auc = 0.0;                     // NaN there
  double bayes_logloss = 0.0;
  std::shared_ptr<const TrainingFile> file;  // what `train` is of; null: a synthetic one
};

// Look-ups to be timed have `timing`'s shape; its number of examples is the source's.
TrainingData load_data(const DataSource& source, TimingShape timing);

}  // namespace lazydp
