// What a build without MPI says to a launcher.

#include <string>

#include "lazydp/base/error.h"
#include "lazydp/shard/launch.h"

namespace lazydp {

std::unique_ptr<Communicator> join_ranks() {
  const int size = launched().size;
  if (size <= 1) return nullptr;
  throw UserError("this is one of " + std::to_string(size) +
                  " ranks, but the program was built without MPI; install libopenmpi-dev and build "
                  "it again, or start one process");
}

void end_all_ranks(int) {}

}  // namespace lazydp
