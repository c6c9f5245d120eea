// lazydp bench paper: runs the paper's experiments, scaled to this machine, into a folder.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "lazydp/base/stages.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;
using paper::Done;
using paper::Experiment;

const Experiment& experiment(const std::string& name) {
  std::string known;
  std::vector<std::string_view> names;
  for (const Experiment& each : paper::experiments()) {
    if (each.name == name) return each;
    names.push_back(each.name);
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  const std::string_view meant = nearest(name, names);
  throw UserError("there is no experiment '" + name + "'; " +
                  (meant.empty() ? "" : "did you mean " + std::string(meant) + "? ") +
                  "There are " + known);
}

bool said(const Text& given, std::string_view name) {
  return given && truth(name, *given);
}

// Returns the scale that --smoke, --quick and --max-table-gb choose; the full run without the first
// two.
paper::Scale choose_scale(const FlagTexts& given) {
  const bool smoke = said(given.smoke, "smoke");
  const bool quick = said(given.quick, "quick");
  if (smoke && quick) throw UserError("--smoke and --quick are both given; choose one of them");
  std::optional<double> table_bytes;
  if (given.max_table_gb) table_bytes = 1e9 * positive("max-table-gb", *given.max_table_gb);
  return scale_of(smoke   ? paper::ScaleName::smoke
                  : quick ? paper::ScaleName::quick
                          : paper::ScaleName::full,
                  table_bytes);
}

// Returns the named experiments, each once, or all; in the paper's order.
std::vector<const Experiment*> choose_experiments(const FlagTexts& given) {
  std::vector<const Experiment*> named;
  for (const std::string& name : given.operands) named.push_back(&experiment(name));
  std::vector<const Experiment*> chosen;
  for (const Experiment& each : paper::experiments()) {
    if (named.empty() || std::ranges::find(named, &each) != named.end()) chosen.push_back(&each);
  }
  return chosen;
}

// Returns a folder that can be written into; makes it if it is missing.
fs::path choose_folder(const FlagTexts& given) {
  if (!given.out) throw UserError("--out is missing; name a folder for the results");
  fs::path folder = *given.out;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("cannot make " + folder.string() + ": " + error.message());
  const OutputFile probe((folder / "index.html").string());
  return folder;
}

void write(const fs::path& folder, const Done& done) {
  const std::string name(done.experiment->name);
  const auto file = [&](const std::string& rest) { return (folder / (name + rest)).string(); };
  OutputFile(file(".csv")).write(paper::csv_of(done.findings.sheet));
  for (const paper::Picture& picture : done.findings.pictures) {
    OutputFile(file((picture.name.empty() ? "" : "-" + picture.name) + ".svg")).write(picture.svg);
  }
}

void print(std::ostream& out, const Done& done) {
  out << done.experiment->name << "  (" << human_duration(done.seconds) << ")\n";
  for (const paper::Comparison& c : done.findings.comparisons) {
    out << "  " << c.what << ": paper " << c.paper << "; here " << c.ours << "\n      " << c.because
        << "\n";
  }
  out.flush();
}

Json json_of(const paper::Scale& scale, const std::vector<Done>& all) {
  Json json = {{"effort", scale.name},
               {"table_bytes", scale.table_bytes},
               {"machine", paper::circumstances(scale)},
               {"experiments", Json::array()}};
  for (const Done& done : all) {
    Json comparisons = Json::array();
    for (const paper::Comparison& c : done.findings.comparisons) {
      comparisons.push_back(
          {{"what", c.what}, {"paper", c.paper}, {"here", c.ours}, {"because", c.because}});
    }
    json["experiments"].push_back({{"name", done.experiment->name},
                                   {"seconds", done.seconds},
                                   {"comparisons", comparisons},
                                   {"notes", done.findings.notes}});
  }
  return json;
}

}  // namespace

void bench_paper(const FlagTexts& given) {
  choose_threads(given);
  const auto chosen = choose_experiments(given);
  const paper::Scale scale = choose_scale(given);
  const std::uint64_t seed = choose_seed(given).value_or(0);
  const fs::path folder = choose_folder(given);
  const Output output(given);

  Progress progress = output.progress();
  paper::Measurer measurer(scale, seed, (folder / "tables").string(), progress);
  std::ostream* report = output.report();
  if (report != nullptr) *report << paper::circumstances(scale) << "\n\n";
  std::vector<Done> done;
  for (const Experiment* each : chosen) {
    progress.say(std::string(each->name) + ": " + std::string(each->title));
    const Stopwatch watch;
    paper::Findings findings = each->run(measurer);
    done.push_back({each, std::move(findings), watch.seconds()});
    write(folder, done.back());
    if (report != nullptr) print(*report, done.back());
    // Written after each experiment, so that an interrupted run keeps its results.
    OutputFile((folder / "index.html").string()).write(paper::index_page(scale, done));
  }
  if (report != nullptr) *report << "\nwrote " << (folder / "index.html").string() << "\n";
  output.write(json_of(scale, done));
}

}  // namespace lazydp::cli
