#pragma once
// What the processes of one run (its ranks) do together.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lazydp {

// What one rank handed to others, so far.
struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

// One array for all ranks: the slice of rank 0, then that of rank 1, and so on.
template <class T>
struct Slices {
  T* data = nullptr;
  std::span<const std::size_t> counts;  // of T, one for each rank
};

// Collective calls are made by every rank, in the same order; one thread of a rank calls at a time.
// Sums come out the same bits on every rank.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int neighbours() const = 0;  // ranks on this machine, this one among them

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int from) = 0;
  virtual void add_up(std::span<float> values) = 0;
  virtual void add_up(std::span<double> values) = 0;

  // From one to one. Both know how much.
  virtual void send(std::span<const std::byte> bytes, int to) = 0;
  virtual void receive(std::span<std::byte> bytes, int from) = 0;

  // out's slice p goes to rank p, in's slice p comes from there; both know how much.
  void all_to_all(Slices<const float> out, Slices<float> in) {
    exchange({out.data, out.counts}, {in.data, in.counts});
  }
  void all_to_all(Slices<const std::uint32_t> out, Slices<std::uint32_t> in) {
    exchange({out.data, out.counts}, {in.data, in.counts});
  }

  // Every rank's text, on rank 0; nothing elsewhere.
  std::vector<std::string> gather(const std::string& mine);
  // Rank 0's text, everywhere.
  std::string broadcast_text(std::string text);
  // Whether it holds on some rank.
  bool any(bool here);

  const Traffic& traffic() const { return traffic_; }

 protected:
  virtual void exchange(Slices<const void> out, Slices<void> in) = 0;  // of words of four bytes

  // What goes to others: of fragments for each rank, or of a sum, every part of which has to go
  // around once to be added up and once to be known.
  void count(std::span<const std::size_t> words_out);
  void count_sum(std::size_t bytes);

  Traffic traffic_;
};

// The only rank there is.
Communicator& alone();

}  // namespace lazydp
