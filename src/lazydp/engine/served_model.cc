#include "lazydp/engine/served_model.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/engine/light_model.h"

struct lazydp_model {  // NOLINT(readability-identifier-naming): the name that C knows
  lazydp::LightModel model;
};

namespace {

constexpr int kDone = 0;
constexpr int kUserError = 2;
constexpr int kOurError = 70;

void tell(const char* what, char* error, std::size_t error_size) {
  if (error == nullptr || error_size == 0) return;
  const std::size_t size = std::min(std::strlen(what), error_size - 1);
  std::memcpy(error, what, size);
  error[size] = '\0';
}

}  // namespace

lazydp_model* lazydp_load(const char* folder, char* error, size_t error_size) {
  try {
    return new lazydp_model{lazydp::LightModel(folder)};
  } catch (const std::exception& refused) {
    tell(refused.what(), error, error_size);
    return nullptr;
  }
}

int lazydp_score(lazydp_model* model, const char* const* columns, size_t column_count,
                 const char* const* values, size_t example_count, double* scores, char* error,
                 size_t error_size) {
  try {
    const std::vector<double> found = model->model.score(
        std::span(columns, column_count), std::span(values, column_count * example_count));
    std::ranges::copy(found, scores);
    return kDone;
  } catch (const lazydp::UserError& refused) {
    tell(refused.what(), error, error_size);
    return kUserError;
  } catch (const std::exception& failed) {
    tell(failed.what(), error, error_size);
    return kOurError;
  }
}

void lazydp_free(lazydp_model* model) {
  delete model;
}
