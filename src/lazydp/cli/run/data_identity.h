#pragma once
// What is said of the data: on a released model's card, and to tell whether a run goes on with its
// own.

#include "lazydp/cli/run/task.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// Public: its name, its size, what was protected, and the schema that new data needs.
Json card_of_data(const TaskChoice& task);

// Equal for equal data, split and protected in the same way, wherever the file lies.
Json identity_of_data(const TaskChoice& task);

}  // namespace lazydp::cli
