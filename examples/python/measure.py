#!/usr/bin/env python3
"""Counts what a loop costs, in every domain that this machine opens; and a region for the report of the regions."""

import substrata

EVENTS = ("perf::TASK-CLOCK", "perf::PAGE-FAULTS", "net:::lo:rx:bytes")


def work() -> float:
    return sum(1.0 / i for i in range(1, 1_000_001))


def counts_here(event: str) -> bool:
    try:
        with substrata.measure(event):
            return True
    except substrata.PapiError as error:
        print(f"{event} does not count here: {error}")
        return False


events = [event for event in EVENTS if counts_here(event)]
if events:
    with substrata.measure(*events) as counted:
        total = work()
    print(f"sum of 1/i {total:.6f}")
    for event, value in counted.values.items():
        print(f"{event} {value}")
    print(f"seconds {counted.seconds:.3f}")
