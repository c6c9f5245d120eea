#include "lazydp/model/model.h"

#include <functional>
#include <numeric>

#include "lazydp/model/dlrm.h"

namespace lazydp {

std::size_t NamedTensor::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::unique_ptr<Model> make_model(const ModelShape& shape) {
  return std::make_unique<Dlrm>(shape);
}

}  // namespace lazydp
