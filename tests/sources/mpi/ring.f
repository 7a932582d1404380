! The same by mpif.h.
      program ring
      implicit none
      include 'mpif.h'
      integer me, ranks, round, ierr, request
      double precision a(10), b(10), mine, total
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      do round = 1, 10
        a(round) = me
      end do
      do round = 1, 5
        call MPI_IRECV(b, 10, MPI_DOUBLE_PRECISION,                     &
     &    mod(me + ranks - 1, ranks), 3, MPI_COMM_WORLD, request, ierr)
        call MPI_SEND(a, 10, MPI_DOUBLE_PRECISION, mod(me + 1, ranks),  &
     &    3, MPI_COMM_WORLD, ierr)
        call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      end do
      mine = b(1)
      call MPI_ALLREDUCE(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
     &  MPI_COMM_WORLD, ierr)
      call MPI_FINALIZE(ierr)
      if (total .ne. ranks * (ranks - 1) / 2) stop 1
      end program
