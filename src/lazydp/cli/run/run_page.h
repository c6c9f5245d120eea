#pragma once
// report.html of a run's folder.

#include <string>
#include <vector>

#include "lazydp/cli/run/run_record.h"

namespace lazydp::cli {

// Returns report.html: a run for people who decide, in one file that needs no other. `log` are the
// lines of metrics.jsonl; `beside`, if it is not null, a run that it is compared with. Everything
// but the claim comes from private data: the page is as secret as they are, and says so.
std::string run_page(const Finished& run, const std::vector<Json>& log, const Provenance& from,
                     const RunRecord* beside);

}  // namespace lazydp::cli
