"""Runs of an MPI program under Open MPI, as root too and with more ranks than processors."""
import os
import subprocess
import time


def launch(program, ranks, variables):
    """Command and environment; `variables` are those of the ranks' environment."""
    command = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks)]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    for name, value in variables.items():
        command += ["-x", f"{name}={value}"]
    return command + [program], dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1")


def run(program, ranks, variables, **options):
    """The finished process; `options` are those of subprocess.run."""
    command, environment = launch(program, ranks, variables)
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          **options)


def run_together(program, ranks, runs):
    """Several at the same time on the same processors, each with its (variables, folder), begun in this order: the
    elapsed and the processor seconds of each."""
    began, places, out = {}, {}, [None] * len(runs)
    for place, (variables, folder) in enumerate(runs):
        command, environment = launch(program, ranks, variables)
        one = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
        began[one.pid], places[one.pid] = time.monotonic(), (place, one)
    while places:
        pid, status, used = os.wait4(-1, 0)
        if pid not in places:
            continue
        place, one = places.pop(pid)
        one.returncode = os.waitstatus_to_exitcode(status)
        if one.returncode != 0:
            raise subprocess.CalledProcessError(one.returncode, program)
        out[place] = (time.monotonic() - began[pid], used.ru_utime + used.ru_stime)
    return out
