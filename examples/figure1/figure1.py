#!/usr/bin/env python3
"""figure1.py PNG RECORDING...: computation, communication and temperature of each rank over time, in the manner of
figure 1 of Dongarra, London, Moore, Terpstra and You, "Extending a Standard Hardware Counter Interface to Simultaneous
Multiple Measurement Domains", from recordings of the unmodified program:

    mpirun -n 2 substrata record -i 20ms -- build/bin/fft
    examples/figure1/figure1.py figure1.png record.*.sub

Needs gnuplot; with a name that ends in .txt only the tables for gnuplot are written. PYTHONPATH must lead to
substrata_recording.py (share/substrata/python, or build/python).
"""

import subprocess
import sys

import substrata_recording

COMPUTATION = ("PAPI_FP_OPS", "PAPI_TOT_INS", "perf::INSTRUCTIONS", "perf::TASK-CLOCK")
COMMUNICATION = ("mpi:::rank:bytes", "mpi:::bytes", "net:::eth0:tx:bytes", "net:::lo:tx:bytes")


def first_of(recording, names):
    """The series by rank of the first name that the recording has values of; -1 for one of all ranks."""
    for name in names:
        found = {-1 if series.rank is None else series.rank: series
                 for series in recording.series if series.name == name and series.samples()}
        if found:
            return found
    return {}


def origin(series):
    return "modelled" if series.modelled else "measured"


def blocks(series):
    """Steps for gnuplot: begin and end of each interval with its rate."""
    return "".join(f"{begin:.6f} {rate:.6g}\n{end:.6f} {rate:.6g}\n" for begin, end, rate in series.rates())


def table(name, text):
    return f"${name} << EOD\n{text or '0 0' + chr(10)}EOD\n"


def script(recording, png):
    work, talk = first_of(recording, COMPUTATION), first_of(recording, COMMUNICATION)
    heat = next((series for series in recording.series if series.kind == "level" and "degC" in series.unit), None)
    if not work:
        raise SystemExit("figure1.py: the recording has none of " + ", ".join(COMPUTATION))
    ranks = sorted(set(work) | set(talk))
    out = [table("heat", "" if heat is None else "".join(
        f"{seconds:.6f} {value / (1000 if heat.unit.startswith('m') else 1):.4f}\n"
        for seconds, value in heat.samples()))]
    for rank in ranks:
        out.append(table(f"work{rank}", blocks(work[rank]) if rank in work else ""))
        out.append(table(f"talk{rank}", blocks(talk[rank]) if rank in talk else ""))
    one_work, one_talk = next(iter(work.values())), next(iter(talk.values()), None)
    height = 120 + 260 * len(ranks)
    out.append(f"""set terminal pngcairo size 1200,{height} font 'sans,11' noenhanced
set output '{png}'
set multiplot layout {len(ranks) + 1},1 title "{recording.property('command') or ''}"
set xrange [0:{recording.seconds:.3f}]
set lmargin 12
set rmargin 14
unset key
set ylabel 'degrees C'
set title '{"no temperature" if heat is None else heat.name + " (" + origin(heat) + ")"}'
plot $heat using 1:2 with lines linecolor rgb '#c0392b'
set ylabel '{one_work.unit}/s' textcolor rgb '#2471a3'
set y2tics
set ytics nomirror
set yrange [0:*]
set y2range [0:*]
""")
    if one_talk is not None:
        out.append(f"set y2label '{one_talk.unit}/s' textcolor rgb '#ca6f1e'\n")
    for rank in ranks:
        if rank == ranks[-1]:
            out.append("set xlabel 'time [s]'\n")
        names = one_work.name + " (blue, " + origin(one_work) + ")"
        if one_talk is not None:
            names += ", " + one_talk.name + " (orange, " + origin(one_talk) + ")"
        out.append(f"set title '{f'rank {rank}' if rank >= 0 else 'all ranks'}: {names}'\n"
                   f"plot $work{rank} using 1:2 with filledcurves y1=0 linecolor rgb '#aed6f1', "
                   f"$work{rank} using 1:2 with lines linecolor rgb '#2471a3', "
                   f"$talk{rank} using 1:2 axes x1y2 with lines linecolor rgb '#ca6f1e'\n")
    out.append("unset multiplot\n")
    return "".join(out)


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    with substrata_recording.open(*sys.argv[2:]) as recording:
        for problem in recording.problems:
            print(problem, file=sys.stderr)
        text = script(recording, sys.argv[1])
    if sys.argv[1].endswith(".txt"):
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(text)
        return
    subprocess.run(["gnuplot"], input=text, text=True, check=True)


if __name__ == "__main__":
    main()
