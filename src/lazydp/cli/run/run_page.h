#pragma once
// report.html: a run at a glance, in one file that needs nothing else.

#include <string>
#include <vector>

#include "lazydp/cli/run/report.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// `log` are the lines of metrics.jsonl. Everything but the claim comes from private data: the page
// is as secret as they are, and says so.
std::string run_page(const Finished& run, const std::vector<Json>& log);

}  // namespace lazydp::cli
