// lazydp sweep, as a user runs it.

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "lazydp/base/error.h"
#include "lazydp/report/csv.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

// Twelve points that train in no time; rows is one value, though it has a comma.
constexpr const char* kGrid = R"(algorithm = ["sgd", "lazydp"]
lr = [0.1, 0.5, 1]
seed = [1, 2]
rows = "50,70"
dim = 4
bottom = "13-8-4"
top = "8-1"
synthetic = "uniform"
batch = 32
steps = 3
)";

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

CsvTable table_in(const Workplace& place) {
  return CsvTable::parse(contents(place / "out.csv"), "out.csv");
}

std::vector<std::string> column(const CsvTable& table, const std::string& name) {
  const auto at = std::ranges::find(table.header, name) - table.header.begin();
  std::vector<std::string> values;
  for (const auto& row : table.rows) values.push_back(row.at(static_cast<std::size_t>(at)));
  return values;
}

const std::vector<std::string> kSweep = {"sweep", "grid.toml", "out.csv", "--threads", "1"};

TEST(Sweep, TrainsEveryCombinationOnce) {
  const Workplace place;
  write(place / "grid.toml", kGrid);
  const Ran ran = place.run(kSweep);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const CsvTable table = table_in(place);
  EXPECT_EQ(table.rows.size(), 12u);
  const std::set<std::vector<std::string>> distinct(table.rows.begin(), table.rows.end());
  EXPECT_EQ(distinct.size(), 12u);
  EXPECT_EQ(std::ranges::count(column(table, "--algorithm"), "lazydp"), 6);
  EXPECT_EQ(std::ranges::count(column(table, "--rows"), "50,70"), 12);
  EXPECT_EQ(std::ranges::count(column(table, "steps"), "3"), 12);
  EXPECT_EQ(std::ranges::count(column(table, "epsilon"), ""), 12);  // the seeds are fixed
}

TEST(Sweep, ARowIsTheRunThatItsSettingsName) {
  const Workplace place;
  write(place / "grid.toml", kGrid);
  ASSERT_EQ(place.run(kSweep).code, 0);
  const CsvTable table = table_in(place);
  const auto json = place.json({"train", "--algorithm", "lazydp",  "--lr",      "0.5",    "--seed",
                                "2",     "--steps",     "3",       "--rows",    "50,70",  "--dim",
                                "4",     "--top",       "8-1",     "--bottom",  "13-8-4", "--batch",
                                "32",    "--synthetic", "uniform", "--threads", "1"});
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  std::vector<double> losses;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const bool same = column(table, "--algorithm")[i] == "lazydp" &&
                      column(table, "--lr")[i] == "0.5" && column(table, "--seed")[i] == "2";
    if (same) losses.push_back(std::stod(column(table, "loss")[i]));
  }
  EXPECT_EQ(losses, std::vector<double>{json["loss"].get<double>()});
}

TEST(Sweep, GoesOnWhereItWasAndGrows) {
  const Workplace place;
  write(place / "grid.toml", kGrid);
  ASSERT_EQ(place.run(kSweep).code, 0);
  CsvTable half = table_in(place);
  const CsvTable whole = half;
  half.rows.resize(5);
  write(place / "out.csv", half.text());

  Ran ran = place.run(kSweep);
  EXPECT_NE(ran.out.find("12 rows, 7 of them new"), std::string::npos) << ran.out;
  EXPECT_EQ(column(table_in(place), "loss"), column(whole, "loss"));  // seeds repeat
  ran = place.run(kSweep);
  EXPECT_NE(ran.out.find("12 rows, 0 of them new"), std::string::npos) << ran.out;
  auto twice = kSweep;
  twice.insert(twice.end(), {"--runs", "2"});
  EXPECT_NE(place.run(twice).out.find("24 rows, 12 of them new"), std::string::npos);
}

TEST(Sweep, SaysALineForEachRunAndWhichPointIsBestOnAverage) {
  const Workplace place;
  write(place / "grid.toml", kGrid);
  Ran ran = place.run(kSweep);
  EXPECT_EQ(ran.error_lines(), 12u) << ran.err;
  EXPECT_NE(ran.err.find("run 3 of 12: --algorithm"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("Best: loss"), std::string::npos) << ran.out;

  // Two runs of each of two points: the second has the best single run, the first the best mean.
  write(place / "grid.toml", "synthetic = \"click\"\nsteps = 2\nbatch = 32\nlr = [0.1, 1]\n");
  std::filesystem::remove(place / "out.csv");
  ASSERT_EQ(place.run(kSweep + Words{"--runs", "2"}).code, 0);
  CsvTable table = table_in(place);
  ASSERT_EQ(table.rows.size(), 4u);
  const auto at =
      static_cast<std::size_t>(std::ranges::find(table.header, "auc") - table.header.begin());
  for (std::size_t i = 0; i < 4; ++i) {
    const bool first = column(table, "--lr")[i] == "0.1";
    table.rows[i][at] = first ? "0.7" : column(table, "run")[i] == "1" ? "0.8" : "0.5";
  }
  write(place / "out.csv", table.text());
  ran = place.run(kSweep + Words{"--runs", "2"});
  EXPECT_NE(ran.out.find("Best: auc 0.7000, the mean of 2 runs, with --lr 0.1"), std::string::npos)
      << ran.out;
  EXPECT_EQ(place.run(kSweep + Words{"--runs", "2", "--quiet"}).out, "");
}

TEST(Sweep, RefusesBeforeTheFirstRun) {
  const Workplace place;
  const auto refused = [&](const std::string& grid, const std::string& said) {
    write(place / "grid.toml", grid);
    const Ran ran = place.run(kSweep);
    EXPECT_EQ(ran.code, 2) << grid;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_NE(ran.err.find(said), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(place / "out.csv"));
  };
  refused(std::string(kGrid) + "algoritm = 1\n", "did you mean algorithm?");
  refused(std::string(kGrid) + "out = \"x\"\n", "unknown key 'out'");
  refused(std::string(kGrid) + "clip-norm = [1, -1]\n", "-1");
  refused(std::string(kGrid) + "clip-norm = []\n", "clip-norm");
  EXPECT_EQ(place.run({"sweep", "nothing.toml", "out.csv"}).code, 4);

  write(place / "grid.toml", kGrid);
  write(place / "out.csv", "another,table\n1,2\n");
  EXPECT_EQ(place.run(kSweep).code, 2);
  EXPECT_EQ(contents(place / "out.csv"), "another,table\n1,2\n");
}

TEST(Sweep, SaysThatAChoiceByHandIsNotPaidFor) {
  const Workplace at;
  const std::string grid =
      "rows = \"50,70\"\ndim = 4\nbottom = \"13-8-4\"\ntop = \"8-1\"\nsynthetic = \"uniform\"\n"
      "batch = 32\nsteps = 2\nlr = [0.1, 1]\n";
  at.write("grid.toml", grid);
  EXPECT_NE(at.run({"sweep", "grid.toml", "a.csv"}).out.find("lazydp tune"), std::string::npos);
  at.write("grid.toml", grid + "seed = 1\n");
  EXPECT_EQ(at.run({"sweep", "grid.toml", "b.csv"}).out.find("lazydp tune"), std::string::npos)
      << "nothing is claimed";
  EXPECT_NE(at.run({"sweep", "--help"}).out.find("lazydp tune"), std::string::npos);
}

TEST(CsvTable, GivesBackWhatWasWritten) {
  const CsvTable table{.header = {"a", "b"}, .rows = {{"1,2", "say \"no\""}, {"", "two\nlines"}}};
  const CsvTable back = CsvTable::parse(table.text(), "t");
  EXPECT_EQ(back.header, table.header);
  EXPECT_EQ(back.rows, table.rows);
  EXPECT_EQ(table.text(), "a,b\n\"1,2\",\"say \"\"no\"\"\"\n,\"two\nlines\"\n");
  EXPECT_THROW(CsvTable::parse("a,b\n1\n", "t"), UserError);
}

}  // namespace
}  // namespace lazydp::cli
