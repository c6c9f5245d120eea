// Reports whether two released models hold the same weights: same_model A B TOLERANCE.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lazydp/export/safetensors.h"

int main(int count, char** words) {
  if (count != 4) return 2;
  const lazydp::SafetensorsFile a(words[1]);
  const lazydp::SafetensorsFile b(words[2]);
  double worst = 0.0;
  std::size_t values = 0;
  for (const auto& tensor : a.tensors()) {
    std::vector<float> x((tensor.end - tensor.begin) / sizeof(float));
    std::vector<float> y(x.size());
    a.read(tensor.name, x);
    b.read(tensor.name, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
    values += x.size();
  }
  std::printf("%zu weights, largest difference %g\n", values, worst);
  return values > 0 && a.tensors().size() == b.tensors().size() && worst <= std::atof(words[3]) ? 0
                                                                                                : 1;
}
