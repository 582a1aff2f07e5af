"""Whether what `hedgerow plan --json` says of a fleet can be: every policy at every time, no bound below the tail, no tail below what was
simulated by more than chance, no optimum above a baseline with the same freedom.

    python3 check_plan.py FILE
"""

import json
import math
import sys

OPTIMISED = "optimised"
GIVEN = "-random-placement"
POLICIES = [OPTIMISED, OPTIMISED + GIVEN, "fixed-t", "equal", "equal" + GIVEN, "proportional", "proportional" + GIVEN]
# What rounding may leave.
SLACK = 1e-9


def main(path: str) -> None:
    rows = [json.loads(line) for line in open(path, encoding="utf-8")]
    times = sorted({row["x"] for row in rows})
    found = {(row["policy"], row["x"]): row for row in rows}
    missing = [(policy, x) for policy in POLICIES for x in times if (policy, x) not in found]
    if len(times) < 5 or missing or len(rows) != len(found):
        sys.exit(f"error: {len(rows)} rows, {len(times)} times, missing {missing}")
    wrong = []
    for row in rows:
        bound, exact, simulated = row["bound"], row["exact"], row["simulated"]
        # Reads that take long come in bunches: four times the error of as many single ones.
        chance = 4 * 4 * math.sqrt(max(exact, 1e-9) / row["simulated_reads"]) + 1e-9
        if not (0 <= exact <= bound * (1 + 1e-6) and bound <= 1 and simulated <= exact + chance):
            wrong.append(f"bound, exact and simulated don't fit: {row}")
    for (policy, x), row in found.items():
        free = not policy.endswith(GIVEN)
        for name in [OPTIMISED] if free else [OPTIMISED + GIVEN]:
            # With a fixed t, too, the best is looked for: it may have the lesser tail, but not the lesser bound.
            for figure in ["bound"] if policy == "fixed-t" else ["bound", "exact"]:
                best = found[name, x][figure]
                if best > row[figure] * (1 + SLACK):
                    wrong.append(f"{figure} of {name} at {x}: {best}, above {policy}: {row[figure]}")
    if wrong:
        sys.exit("error: " + "\n".join(wrong))
    print(f"{len(rows)} rows of {len(times)} times, as they should be")


main(sys.argv[1])
