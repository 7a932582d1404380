! A ring of messages by the bindings of mpi_f08: each rank sends five of 80 bytes to the next, and one sum of 8.
program ring
  use mpi_f08
  implicit none
  integer :: me, ranks, round
  real(8) :: out(10), in(10), mine, total
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  out = me
  do round = 1, 5
    call MPI_Irecv(in, 10, MPI_DOUBLE_PRECISION, mod(me + ranks - 1, ranks), 3, MPI_COMM_WORLD, request)
    call MPI_Send(out, 10, MPI_DOUBLE_PRECISION, mod(me + 1, ranks), 3, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end do
  mine = in(1)
  call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total /= ranks * (ranks - 1) / 2) stop 1
end program
