#include "lazydp/checkpoint/settled_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "lazydp/base/error.h"
#include "lazydp/base/io/mapped_file.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/export/safetensors.h"

namespace lazydp {

TableFiles::FirstValues rows_of_file(const std::string& path, const SettledRows& rows) {
  const SafetensorsFile header(path);
  if (header.digest() != rows.blake2b) {
    throw IoError(path + " is damaged: it is not the file that was written");
  }
  const auto file = std::make_shared<const MappedFile>(path, MappedFile::Access::random);
  return [file, tensors = header.tensors()](std::size_t k) -> RowFile::FirstValues {
    const auto found = std::ranges::find(tensors, table_name(k), &SafetensorsFile::Tensor::name);
    if (found == tensors.end()) throw UserError(file->path() + " has no " + table_name(k));
    const auto bytes = file->bytes().subspan(found->begin, found->end - found->begin);
    return [file, bytes](RowId row, std::span<float> values) {
      const std::size_t at = static_cast<std::size_t>(row) * values.size_bytes();
      check(at + values.size_bytes() <= bytes.size(), "a row within its tensor");
      std::memcpy(values.data(), bytes.data() + at, values.size_bytes());
    };
  };
}

}  // namespace lazydp
