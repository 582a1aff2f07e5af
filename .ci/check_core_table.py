"""Checks the JSON lines of the example `hedge_core_table`: every one well-formed, all rows there, and sizes within bounds."""

import json
import sys

# What, in which unit, and below which value; times have no bound here, since they depend on the machine.
ROWS = {
    "unhedged-1-cell": ("ns", None),
    "unhedged-6-cells": ("ns", None),
    "unhedged-1-cell-governed": ("ns", None),
    "hedged-1-cell": ("ns", None),
    "hedged-1-cell-1024": ("ns", None),
    "tower-1": ("ns", None),
    "stripe-read-9-bytes": ("bytes", 768),
    "governor-1024-bytes": ("bytes", 128 << 10),
}


def fault_of(row):
    """What is wrong with one row by itself."""
    if not isinstance(row, dict) or set(row) != {"what", "value", "unit"}:
        return "not an object of what, value and unit"
    if row["what"] not in ROWS:
        return f"unknown row {row['what']!r}"
    unit, bound = ROWS[row["what"]]
    if row["unit"] != unit:
        return f"{row['what']} is in {row['unit']!r}, not in {unit}"
    value = row["value"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        return f"{row['what']} is {value!r}"
    if bound is not None and value >= bound:
        return f"{row['what']} is {value}, not below {bound}"
    return None


def main():
    seen, faults = [], []
    with open(sys.argv[1], encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                faults.append(f"line {number}: {error}")
                continue
            fault = fault_of(row)
            if fault:
                faults.append(f"line {number}: {fault}")
            else:
                seen.append(row["what"])
    faults += [f"{what}: {seen.count(what)} rows" for what in ROWS if seen.count(what) != 1]
    print(f"{sys.argv[1]}: {len(seen)} good rows")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
