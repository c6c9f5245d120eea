#include "lazydp/export/safetensors.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/text/json.h"
#include "lazydp/train/plan_json.h"

namespace lazydp {

namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kChunk = std::size_t{4} << 20;

// Returns the bytes that a tensor of this shape takes; the largest number if that overflows.
std::uint64_t bytes_of(const std::vector<std::size_t>& shape, std::uint64_t of_one) {
  std::uint64_t bytes = of_one;
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return bytes;
}

std::uint64_t bytes_of(const TensorSource& tensor) {
  return bytes_of(tensor.shape, tensor.small_values.empty() ? sizeof(float) : 1);
}

std::string header_of(std::span<const TensorSource> tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorSource& tensor : tensors) {
    const std::uint64_t end = offset + bytes_of(tensor);
    header[tensor.name] = {{"dtype", tensor.small_values.empty() ? "F32" : "I8"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  check(text.size() <= kMaxHeader, "the header of a safetensors file is within its limit");
  return text;
}

std::ifstream open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw system_failure("cannot read " + path);
  return file;
}

}  // namespace

std::string write_safetensors(const std::string& path, std::span<const TensorSource> tensors,
                              const Metadata& metadata, mode_t mode) {
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  std::uint64_t total = sizeof(length) + length;
  for (const TensorSource& tensor : tensors) total += bytes_of(tensor);

  AtomicFile file(path, mode);
  file.preallocate(total);  // leaves no holes; a disk that is too small fails here
  Digest digest;
  const auto put = [&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(kChunk, bytes.size()));
      digest.add(part);
      file.write(part);
      bytes = bytes.subspan(part.size());
    }
  };
  put(std::as_bytes(std::span(&length, 1)));
  put(std::as_bytes(std::span(header)));
  for (const TensorSource& tensor : tensors) {
    put(std::as_bytes(tensor.values));
    put(std::as_bytes(tensor.small_values));
    if (tensor.stream) {
      tensor.stream([&put](std::span<const float> values) { put(std::as_bytes(values)); });
    }
  }
  check(file.size() == total, "tensors are as large as their shapes");
  file.commit();
  return digest.text();
}

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  const auto refuse = [this](const std::string& why) {
    throw UserError(path_ + " is no safetensors file of 32-bit floats or 8-bit numbers: " + why);
  };
  std::ifstream file = open(path_);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  std::uint64_t length = 0;
  if (size < sizeof(length)) refuse("it is too short");
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  if (length > kMaxHeader || length > size - sizeof(length)) refuse("its header is too long");
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  if (!file) throw IoError("cannot read " + path_);

  const std::uint64_t start = sizeof(length) + length;
  try {
    const Json header = Json::parse(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        metadata_ = entry.get<Metadata>();
        continue;
      }
      Tensor tensor{.name = name, .shape = naturals<std::size_t>(entry.at("shape"))};
      const auto begin = natural<std::uint64_t>(entry.at("data_offsets").at(0));
      const auto end = natural<std::uint64_t>(entry.at("data_offsets").at(1));
      const Json& type = entry.at("dtype");
      if (type != "F32" && type != "I8") refuse(name + " is neither F32 nor I8");
      tensor.type = type == "F32" ? Type::f32 : Type::i8;
      const std::uint64_t of_one = tensor.type == Type::f32 ? sizeof(float) : 1;
      if (end > size - start || begin > end || end - begin != bytes_of(tensor.shape, of_one)) {
        refuse(name + " lies outside the file or has another size than its shape");
      }
      tensor.begin = start + begin;
      tensor.end = start + end;
      tensors_.push_back(std::move(tensor));
    }
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

const SafetensorsFile::Tensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors_, name, &Tensor::name);
  return found == tensors_.end() ? nullptr : &*found;
}

void SafetensorsFile::read(const std::string& name, std::span<float> values) const {
  read_bytes(name, Type::f32, std::as_writable_bytes(values));
}

void SafetensorsFile::read(const std::string& name, std::span<std::int8_t> values) const {
  read_bytes(name, Type::i8, std::as_writable_bytes(values));
}

void SafetensorsFile::read_bytes(const std::string& name, Type type,
                                 std::span<std::byte> bytes) const {
  const Tensor* const found = find(name);
  if (found == nullptr || found->type != type || found->end - found->begin != bytes.size()) {
    const std::size_t of_one = type == Type::f32 ? sizeof(float) : 1;
    throw UserError(path_ + " has no tensor " + name + " of " +
                    std::to_string(bytes.size() / of_one) +
                    (type == Type::f32 ? " floats" : " eight-bit numbers"));
  }
  std::ifstream file = open(path_);
  file.seekg(static_cast<std::streamoff>(found->begin));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw IoError("cannot read " + name + " from " + path_);
}

void SafetensorsFile::read_part(const Tensor& tensor, std::uint64_t first,
                                std::span<float> values) const {
  check(tensor.type == Type::f32, "only floats are read in parts");
  check(first * sizeof(float) + values.size_bytes() <= tensor.end - tensor.begin,
        "a part lies within its tensor");
  std::ifstream file = open(path_);
  file.seekg(static_cast<std::streamoff>(tensor.begin + first * sizeof(float)));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size_bytes()));
  if (!file) throw IoError("cannot read " + tensor.name + " from " + path_);
}

std::string SafetensorsFile::digest() const {
  std::ifstream file = open(path_);
  std::vector<char> chunk(kChunk);
  Digest digest;
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    digest.add(std::as_bytes(std::span(chunk).first(static_cast<std::size_t>(file.gcount()))));
  }
  if (!file.eof()) throw IoError("cannot read " + path_);
  return digest.text();
}

}  // namespace lazydp
