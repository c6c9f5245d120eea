#pragma once
// Streams packed with gzip or zstd, also several one after the other.

#include <memory>
#include <string>

#include "lazydp/data/text/byte_source.h"

namespace lazydp {

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed, std::string name);
std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed, std::string name);

}  // namespace lazydp
