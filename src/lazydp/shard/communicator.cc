#include "lazydp/shard/communicator.h"

#include <cstring>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

class Alone final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int neighbours() const override { return 1; }
  void barrier() override {}
  void broadcast(std::span<std::byte>, int) override {}
  void add_up(std::span<float>) override {}
  void add_up(std::span<double>) override {}
  void send(std::span<const std::byte>, int) override { no_other_rank(); }
  void receive(std::span<std::byte>, int) override { no_other_rank(); }

 private:
  void exchange(Slices<const void> out, Slices<void> in) override {
    check(out.counts[0] == in.counts[0], "what is sent is received");
    const std::size_t bytes = out.counts[0] * sizeof(std::uint32_t);
    if (bytes > 0) std::memcpy(in.data, out.data, bytes);  // an empty slice may have a null pointer
  }
  [[noreturn]] static void no_other_rank() { throw InternalError("there is no other rank"); }
};

}  // namespace

std::vector<std::string> Communicator::gather(const std::string& mine) {
  const std::uint64_t size_here = mine.size();
  if (rank() != 0) {
    send(std::as_bytes(std::span(&size_here, 1)), 0);
    send(std::as_bytes(std::span(mine)), 0);
    return {};
  }
  std::vector<std::string> all = {mine};
  for (int from = 1; from < size(); ++from) {
    std::uint64_t length = 0;
    receive(std::as_writable_bytes(std::span(&length, 1)), from);
    all.emplace_back(length, '\0');
    receive(std::as_writable_bytes(std::span(all.back())), from);
  }
  return all;
}

std::string Communicator::broadcast_text(std::string text) {
  std::uint64_t length = text.size();
  broadcast(std::as_writable_bytes(std::span(&length, 1)), 0);
  text.resize(length);
  broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

bool Communicator::any(bool here) {
  double votes = here ? 1.0 : 0.0;
  add_up(std::span(&votes, 1));
  return votes > 0.0;
}

void Communicator::count(std::span<const std::size_t> words_out) {
  for (int to = 0; to < size(); ++to) {
    const std::size_t words = words_out[static_cast<std::size_t>(to)];
    if (to == rank() || words == 0) continue;
    traffic_.bytes += words * sizeof(std::uint32_t);
    ++traffic_.messages;
  }
}

void Communicator::count_sum(std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(size());
  traffic_.bytes += 2 * bytes * (ranks - 1) / ranks;
  traffic_.messages += 2 * (ranks - 1);
}

std::unique_ptr<Communicator> make_alone() {
  return std::make_unique<Alone>();
}

Communicator& alone() {
  static Alone one;
  return one;
}

}  // namespace lazydp
