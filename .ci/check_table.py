"""Checks the JSON lines of the example `codec_table`: every one well-formed, and all jobs, schemas and contenders there."""

import argparse
import json
import re
import sys

JOBS = {"encode", "rebuild"}
SCHEMAS = {"rs-6-3", "rs-10-4", "rs-12-3", "rs-3-2"}
PLACES = {"hot", "dram"}
CONTENDERS = {
    "hedgerow",
    "xor",
    "xor-streaming",
    "read",
    "memcpy",
    "rustfs-erasure-codec",
    "reed-solomon-erasure",
    "reed-solomon-simd",
    "fec-rs",
}
ISA_L = re.compile(r"isa-l-\d+\.\d+")
FIELDS = {"job", "schema", "cell", "where", "contender", "kernel", "gbps_min", "gbps_median", "gbps_max"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def faults_of(row):
    """What is wrong with one row by itself."""
    if not isinstance(row, dict):
        return ["not an object"]
    if not FIELDS <= set(row):
        return [f"fields missing: {', '.join(sorted(FIELDS - set(row)))}"]
    faults = []
    for field, allowed in (("job", JOBS), ("schema", SCHEMAS), ("where", PLACES)):
        if row[field] not in allowed:
            faults.append(f"{field} {row[field]!r} is none of {sorted(allowed)}")
    contender = row["contender"]
    if contender not in CONTENDERS and not ISA_L.fullmatch(str(contender)):
        faults.append(f"unknown contender {contender!r}")
    if not (isinstance(row["cell"], int) and row["cell"] > 0):
        faults.append(f"cell {row['cell']!r} is no number of bytes")
    rates = [row["gbps_min"], row["gbps_median"], row["gbps_max"]]
    if not all(is_number(rate) for rate in rates) or not 0 < rates[0] <= rates[1] <= rates[2]:
        faults.append(f"rates {rates} are not positive and ascending")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isa-l", action="store_true", help="ISA-L must be among the contenders")
    parser.add_argument("--kernels", required=True, help="kernels of this machine, best last, with commas")
    parser.add_argument("table", help="the file of JSON lines")
    arguments = parser.parse_args()

    rows, faults = [], []
    with open(arguments.table, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                faults.append(f"line {number}: {error}")
                continue
            wrong = faults_of(row)
            faults += [f"line {number}: {fault}" for fault in wrong]
            if not wrong:
                rows.append(row)

    for field, wanted in (("job", JOBS), ("schema", SCHEMAS), ("where", PLACES), ("contender", CONTENDERS)):
        missing = wanted - {row[field] for row in rows}
        if missing:
            faults.append(f"no row with {field} {', '.join(sorted(missing))}")
    if arguments.isa_l and not any(ISA_L.fullmatch(row["contender"]) for row in rows):
        faults.append("no row with contender isa-l")
    best = arguments.kernels.split(",")[-1]
    if not any(row["contender"] == "hedgerow" and row["kernel"] == best for row in rows):
        faults.append(f"no row of hedgerow with kernel {best}")

    print(f"{arguments.table}: {len(rows)} good rows")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
