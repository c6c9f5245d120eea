/* A network of a given speed, emulated where a program meets MPI: loaded before it (LD_PRELOAD), this
 * lets a collective call end no sooner than such a network would. No core spends that time: what
 * computes meanwhile goes on, as with a real one.
 * LAZYDP_NETWORK="MILLISECONDS GIGABITS", for example "1 10". Calls through MPI's profiling interface.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most = 64 }; /* calls on their way at a time: a rank has one or two */
static struct {
  MPI_Request request; /* as the caller knows it */
  MPI_Request inner;   /* as MPI does */
  double takes; /* 0: the place is free */
  double ends; /* 0: MPI has not ended it */
} calls[most];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The call ends after `trips` one after the other, in which `bytes` pass this rank's wire. */
static void delay(MPI_Request request, int trips, double bytes) {
  static double ms = -1.0, gigabits = 0.0;
  if (ms < 0.0) {
    const char *text = getenv("LAZYDP_NETWORK");
    if (text == NULL || sscanf(text, "%lf %lf", &ms, &gigabits) != 2 || gigabits <= 0.0) {
      fputs("slow_network: LAZYDP_NETWORK must be two numbers, for example '1 10'\n", stderr);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  for (int i = 0; i < most; ++i) {
    if (calls[i].takes > 0.0) continue;
    calls[i].request = calls[i].inner = request;
    calls[i].takes = trips * ms * 1e-3 + bytes * 8.0 / (gigabits * 1e9);
    calls[i].ends = 0.0;
    return;
  }
}

static int log2_up(int ranks) {
  int trips = 0;
  while ((1 << trips) < ranks) ++trips;
  return trips;
}

/* MPI ends a call soon after the last rank has made it; from then on it takes its time. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  for (int i = 0; i < most; ++i) {
    if (calls[i].takes == 0.0 || calls[i].request != *request) continue;
    *flag = 0;
    if (calls[i].ends == 0.0) {
      int ended = 0;
      const int code = PMPI_Test(&calls[i].inner, &ended, status);
      if (code != MPI_SUCCESS) return code;
      if (ended) calls[i].ends = now() + calls[i].takes;
    } else if (now() >= calls[i].ends) {
      calls[i].takes = 0.0;
      *request = MPI_REQUEST_NULL;
      *flag = 1;
    }
    return MPI_SUCCESS;
  }
  return PMPI_Test(request, flag, status);
}

int MPI_Ialltoallv(const void *out, const int out_counts[], const int out_at[], MPI_Datatype out_type,
                   void *in, const int in_counts[], const int in_at[], MPI_Datatype in_type,
                   MPI_Comm ranks, MPI_Request *request) {
  int size = 0, here = 0, word = 0;
  MPI_Comm_size(ranks, &size);
  MPI_Comm_rank(ranks, &here);
  MPI_Type_size(out_type, &word);
  double sent = 0.0, received = 0.0;
  for (int p = 0; p < size; ++p) {
    if (p == here) continue;
    sent += (double)out_counts[p] * word;
    received += (double)in_counts[p] * word;
  }
  const int code = PMPI_Ialltoallv(out, out_counts, out_at, out_type, in, in_counts, in_at, in_type,
                                   ranks, request);
  delay(*request, 1, sent > received ? sent : received); /* both ways at once */
  return code;
}

int MPI_Iallreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm ranks,
                   MPI_Request *request) {
  int size = 0, word = 0;
  MPI_Comm_size(ranks, &size);
  MPI_Type_size(type, &word);
  const int code = PMPI_Iallreduce(out, in, count, type, op, ranks, request);
  delay(*request, 2 * log2_up(size), 2.0 * count * word * (size - 1) / size);
  return code;
}
