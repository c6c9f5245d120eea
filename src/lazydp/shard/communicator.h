#pragma once
// The collective calls of the processes of one run (its ranks).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lazydp {

// Counts the bytes and messages that one rank has sent to others.
struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

// One array for all ranks: the slice of rank 0, then that of rank 1, and so on.
template <class T>
struct Slices {
  T* data = nullptr;
  std::span<const std::size_t> counts;  // in elements of T, one for each rank
};

// Every rank makes the collective calls, in the same order; one thread of a rank calls at a time.
// Sums are the same bits on every rank.
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

  // Sends bytes to one rank, which receives them with a buffer of the same size.
  virtual void send(std::span<const std::byte> bytes, int to) = 0;
  virtual void receive(std::span<std::byte> bytes, int from) = 0;

  // Sends out's slice p to rank p and receives in's slice p from it; both know the size.
  void all_to_all(Slices<const float> out, Slices<float> in) {
    exchange({out.data, out.counts}, {in.data, in.counts});
  }
  void all_to_all(Slices<const std::uint32_t> out, Slices<std::uint32_t> in) {
    exchange({out.data, out.counts}, {in.data, in.counts});
  }

  // Returns every rank's text on rank 0; nothing elsewhere.
  std::vector<std::string> gather(const std::string& mine);
  // Returns rank 0's text on every rank.
  std::string broadcast_text(std::string text);
  // Returns whether `here` holds on some rank.
  bool any(bool here);

  const Traffic& traffic() const { return traffic_; }

 protected:
  virtual void exchange(Slices<const void> out, Slices<void> in) = 0;  // four-byte words

  // Counts what this rank sends to others: its fragments for each rank, or its part of a sum, every
  // part of which goes around once to be added up and once to be distributed.
  void count(std::span<const std::size_t> words_out);
  void count_sum(std::size_t bytes);

  Traffic traffic_;
};

// Returns the communicator of a run that has a single rank.
Communicator& alone();
std::unique_ptr<Communicator> make_alone();

}  // namespace lazydp
