"""Runs of an MPI program under Open MPI, as root too and with more ranks than processors."""
import os
import subprocess


def run(program, ranks, variables, **options):
    """The finished process; `variables` are those of the ranks' environment, `options` those of subprocess.run."""
    command = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks)]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    for name, value in variables.items():
        command += ["-x", f"{name}={value}"]
    return subprocess.run(command + [program], env=dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **options)
