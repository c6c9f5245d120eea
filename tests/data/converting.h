#pragma once
// Converts lines under a schema that has a column of each kind.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "lazydp/data/file/data_file.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/convert.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {

class Converting : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Conversion run(const std::string& text, std::uint64_t max_bad = 0) const {
    folder_.write("in", text);
    return convert({.inputs = {path("in")},
                    .output = path("out"),
                    .schema = schema_,
                    .max_bad_lines = max_bad});
  }
  // Returns the error message for the only line of `text`.
  std::string complaint(const std::string& text) const {
    const Conversion done = run(text);
    EXPECT_TRUE(done.stopped) << text;
    EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"}) << "nothing is left";
    if (done.first_bad.empty()) return "none";
    const BadLine& bad = done.first_bad.front();
    return std::to_string(bad.line) + ":" + std::to_string(bad.column) + ": " + bad.reason;
  }
  Batch read() const {
    const DataFile data(path("out"));
    std::vector<ExampleId> all(data.size());
    std::iota(all.begin(), all.end(), ExampleId{0});
    Batch batch;
    data.read(all, batch);
    return batch;
  }

  TemporaryFolder folder_;
  Schema schema_ = parse_schema(R"(
missing = ["", "?"]
[[column]]
name = "user"
role = "categorical"
rows = 1000
key = true
[[column]]
name = "age"
role = "dense"
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 50
[[column]]
name = "y"
role = "label"
positive = ["yes", "Yes"]
negative = ["no"]
[[column]]
name = "time"
role = "categorical"
bucket = 60
rows = 100
)",
                                "test");
};

}  // namespace lazydp
