# Python's module brings the MPI library along with a scope of its own.
from mpi4py import MPI

world = MPI.COMM_WORLD
to = (world.rank + 1) % world.size
for i in range(10):
    request = world.irecv(tag=7)
    world.Send([bytearray(80), MPI.BYTE], to, tag=8)
    world.Recv([bytearray(80), MPI.BYTE], MPI.ANY_SOURCE, tag=8)
    world.send(i, to, tag=7)
    assert request.wait() == i
assert world.allreduce(1) == world.size
print("whole")
