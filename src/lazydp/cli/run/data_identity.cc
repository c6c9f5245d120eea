#include "lazydp/cli/run/data_identity.h"

#include <filesystem>
#include <string>

#include "lazydp/cli/run/schema_json.h"

namespace lazydp::cli {

Json card_of_data(const TaskChoice& task) {
  if (!task.file) return {{"name", task.name}, {"examples", task.examples()}};
  const DataChoice& data = *task.file;
  return {{"name", std::filesystem::path(task.name).filename().string()},
          {data.units ? "units" : "examples", task.examples()},
          {"privacy_unit", data.unit},
          {"split", data.split},
          {"neighbours", data.neighbours},
          {"schema", json_of(data.file->schema())}};
}

Json identity_of_data(const TaskChoice& task) {
  if (!task.file) return task.name;
  const DataChoice& data = *task.file;
  return {{"data_checksum", std::to_string(data.file->header().checksum)},
          {"split", data.split},
          {"privacy_unit", data.unit}};
}

}  // namespace lazydp::cli
