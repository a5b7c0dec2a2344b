"""Caveats from who else used the machine during a run."""

from collections.abc import Sequence
from statistics import fmean

SHARE = 0.1  # of the machine's cores in other hands, from which it is told
FEWEST = 2  # looks at the CPU


def caveats(load: Sequence[tuple[float, float, float, int]], conditions: Sequence[str]) -> list[str]:
    """`load`: (epoch seconds, cores used by others, by other machines, cores there are) at each look in the run."""
    found = [f"{words} during the run" for words in conditions]
    if len(load) < FEWEST:
        return found
    cores = load[-1][3]
    others, steal = fmean(row[1] for row in load), fmean(row[2] for row in load)
    if others >= SHARE * cores:
        found.append(f"other processes used {others:.1f} of {cores} cores during the run: times hold that")
    if steal >= SHARE * cores:
        found.append(f"other machines on this host took {steal:.1f} of {cores} cores during the run: times hold that")
    return found
