// Safetensors: whatever a header says, only the file and the caller's memory are touched.

#include "lazydp/export/safetensors.h"

#include <vector>

#include "tests/fuzz/input.h"

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  file.put(text_of(data, size));
  refuses_or([&] {
    const SafetensorsFile weights(file.path());
    for (const SafetensorsFile::Tensor& tensor : weights.tensors()) {
      if (tensor.begin > tensor.end || tensor.end > size) std::abort();
      const std::size_t bytes = tensor.end - tensor.begin;
      if (tensor.type == SafetensorsFile::Type::i8) {
        std::vector<std::int8_t> values(bytes);
        weights.read(tensor.name, values);
        continue;
      }
      std::vector<float> values(bytes / sizeof(float));
      weights.read(tensor.name, values);
    }
    weights.digest();
  });
}
