// Exchanges time stamps between rank 0 and the first rank of each other clock.
#include "sources/mpi/node_clocks.hpp"

#include <substrata/live_board.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "sources/mpi/exchange/clock_exchange.hpp"
#include "sources/mpi/gather.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

constexpr int kExchanges = 30;
constexpr int kTag = 1;

// Rank 0's part and the other one's; the latter learns what came of it.
void answer(int leader, MPI_Comm apart) {
  for (int i = 0; i < kExchanges; ++i) {
    long now = 0;
    pmpi().Recv(&now, 1, MPI_LONG, leader, kTag, apart, MPI_STATUS_IGNORE);
    now = real_ns();
    pmpi().Send(&now, 1, MPI_LONG, leader, kTag, apart);
  }
}
std::array<mpi_exchange::ClockExchange, kExchanges> ask(MPI_Comm apart) {
  std::array<mpi_exchange::ClockExchange, kExchanges> exchanges;
  for (mpi_exchange::ClockExchange& one : exchanges) {
    long there = 0;
    one.sent = real_ns();
    pmpi().Send(&there, 1, MPI_LONG, 0, kTag, apart);
    pmpi().Recv(&there, 1, MPI_LONG, 0, kTag, apart, MPI_STATUS_IGNORE);
    one.received = real_ns();
    one.remote = there;
  }
  return exchanges;
}

}  // namespace

void measure_clocks(Shim& self) {
  // Every rank or none takes part, and none gives up once the others wait for it.
  char reference[sizeof(substrata_live_clock::reference)] = "";  // as many bytes in every rank
  unsigned long mine[2] = {};
  std::vector<unsigned long> all;
  const bool able = unharmed(
      [&] {
        const std::string own = mpi_exchange::clock_name();
        std::snprintf(reference, sizeof reference, "%s", own.c_str());
        mine[0] = std::hash<std::string>{}(own);
        mine[1] = self.status.is_open() && !own.empty() ? 1 : 0;
        all.resize(2 * static_cast<size_t>(self.ranks));
        return true;
      },
      false);
  if (!all_agree(able)) return;
  pmpi().Allgather(mine, 2, MPI_UNSIGNED_LONG, all.data(), 2, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  bool wanted = false;
  for (size_t i = 1; i < all.size(); i += 2) wanted = wanted || all[i] != 0;
  if (!wanted) return;
  std::vector<int> leaders;
  const bool known = unharmed(
      [&] {
        std::vector<uint64_t> clocks;
        for (size_t i = 0; i < all.size(); i += 2) clocks.push_back(all[i]);
        leaders = mpi_exchange::clock_leaders(clocks);
        return true;
      },
      false);
  if (!all_agree(known) || leaders.empty()) return;
  pmpi().Bcast(reference, static_cast<int>(sizeof reference), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm apart{};
  pmpi().Comm_dup(MPI_COMM_WORLD, &apart);
  for (const int leader : leaders) {
    if (self.rank == 0)
      answer(leader, apart);
    else if (self.rank == leader)
      self.status.clock(mpi_exchange::best_offset(ask(apart)), reference);
  }
  pmpi().Comm_free(&apart);
}

}  // namespace substrata::mpi
