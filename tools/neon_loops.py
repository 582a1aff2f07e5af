#!/usr/bin/env python3
"""Counts the instructions in the inner loops of the codec's arm64 kernels, and in those of other codecs next to them.

Run from the root of the repository; docs/neon.md says what is counted. Needs the Rust target aarch64-unknown-linux-gnu
and, on other machines than arm64, Debian's gcc-aarch64-linux-gnu.
"""

import argparse
import heapq
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict

TARGET = "aarch64-unknown-linux-gnu"
RUSTC = ["-C", "codegen-units=1", "-C", "debuginfo=1", "-C", "symbol-mangling-version=v0"]

# Products that the dyadic form takes, by outputs; must agree with what the loops look up.
PRODUCTS = {"quad": {2: 6, 3: 8, 4: 9}, "pair": {2: 3, 3: 5, 4: 6}, "single": {2: 2, 3: 3, 4: 4}}
SOURCES = {"quad": 4, "pair": 2, "single": 1}
# The codes whose whole rounds are counted: sources, outputs and, in dyadic form, blocks of columns.
PLAIN_SOURCES = 6
DYADIC = {2: ("RS-4-2", {"pair": 2}), 3: ("RS-12-3", {"quad": 3}), 4: ("RS-10-4", {"quad": 2, "pair": 1})}


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return done.stdout


def tool(name):
    """A GNU tool for arm64: by its cross name, or the machine's own where that is arm64."""
    cross = "aarch64-linux-gnu-" + name
    if shutil.which(cross):
        return cross
    if platform.machine() in ("aarch64", "arm64"):
        return name
    sys.exit(f"{cross} is missing: Debian and Ubuntu have it in gcc-aarch64-linux-gnu")


class Instruction:
    BRANCH = re.compile(r"(b|b\.\w+|cbn?z|tbn?z)$")

    def __init__(self, address, name, operands):
        self.address, self.name, self.operands = address, name, operands
        self.target = None
        if self.BRANCH.match(name):
            found = re.search(r"([0-9a-f]+) <", operands)
            self.target = int(found[1], 16) if found else None

    @property
    def ends(self):
        return self.target is not None or self.name in ("ret", "br", "udf", "brk", "b")

    @property
    def falls_through(self):
        return self.name not in ("ret", "br", "udf", "brk", "b")

    @property
    def loads(self):
        return re.match(r"ld", self.name) is not None

    @property
    def stores(self):
        return re.match(r"st", self.name) is not None

    @property
    def looks_up(self):
        """Bytes looked up: a table look-up may be half a vector wide."""
        if self.name not in ("tbl", "tbx"):
            return 0
        return 8 if ".8b" in self.operands.split(",")[0] else 16

    @property
    def xors(self):
        return self.name in ("eor", "eor3") and self.operands.startswith("v")

    @property
    def on_stack(self):
        return (self.loads or self.stores) and re.search(r"\[(sp|x29)\b", self.operands) is not None


class Function:
    """The control flow of one function: blocks, natural loops, and which loop is in which."""

    def __init__(self, name, section, instructions):
        self.name, self.section = name, section
        starts = {instructions[0].address}
        for i, one in enumerate(instructions):
            if one.ends:
                starts.add(one.target)
                if i + 1 < len(instructions):
                    starts.add(instructions[i + 1].address)
        self.blocks, block = {}, None
        for one in instructions:
            if one.address in starts:
                block = self.blocks.setdefault(one.address, [])
            block.append(one)
        order = sorted(self.blocks)
        self.next = {}
        for at, after in zip(order, order[1:] + [None]):
            last = self.blocks[at][-1]
            following = {last.target} if last.target in self.blocks else set()
            if last.falls_through and after is not None:
                following.add(after)
            self.next[at] = following
        self.entry = order[0]
        self.loops = self.find_loops()

    def find_loops(self):
        reached, stack, order = {self.entry}, [(self.entry, iter(self.next[self.entry]))], []
        while stack:
            at, rest = stack[-1]
            for following in rest:
                if following not in reached:
                    reached.add(following)
                    stack.append((following, iter(self.next[following])))
                    break
            else:
                order.append(at)
                stack.pop()
        order.reverse()
        before = defaultdict(set)
        for at in order:
            for following in self.next[at]:
                before[following].add(at)
        rank = {at: i for i, at in enumerate(order)}
        dominator = {self.entry: self.entry}
        changed = True
        while changed:
            changed = False
            for at in order[1:]:
                new = None
                for one in (b for b in before[at] if b in dominator):
                    other = new if new is not None else one
                    while one != other:
                        if rank[one] > rank[other]:
                            one = dominator[one]
                        else:
                            other = dominator[other]
                    new = one
                if dominator.get(at) != new:
                    dominator[at], changed = new, True

        def dominates(one, other):
            while rank[other] > rank[one]:
                other = dominator[other]
            return one == other

        bodies = {}
        for at in order:
            for head in self.next[at]:
                if dominates(head, at):
                    body, todo = bodies.setdefault(head, {head}), [at]
                    while todo:
                        one = todo.pop()
                        if one not in body:
                            body.add(one)
                            todo.extend(before[one])
        loops = [Loop(self, head, body) for head, body in bodies.items()]
        for loop in loops:
            around = [other for other in loops if other is not loop and loop.head in other.body]
            if around:
                parent = min(around, key=lambda other: len(other.body))
                parent.inner.append(loop)
        return loops


class Loop:
    def __init__(self, function, head, body):
        self.function, self.head, self.body = function, head, body
        self.inner = []

    def own(self):
        """Instructions that are in no loop inside this one."""
        inside = set().union(*(loop.body for loop in self.inner)) if self.inner else set()
        return [one for at in sorted(self.body - inside) for one in self.function.blocks[at]]

    def way_through(self, stops):
        """Instructions on the shortest way around the loop that passes the inner loops `stops`, theirs not counted."""
        of = {at: loop.head for loop in self.inner for at in loop.body}
        node = lambda at: of.get(at, at)
        leads = defaultdict(set)
        for at in self.body:
            for following in self.function.next[at]:
                if following in self.body and node(following) != node(at):
                    leads[node(at)].add(node(following))
        cost = lambda at: [] if at in of.values() else self.function.blocks[at]
        way, at = list(cost(self.head)), self.head
        for stop in [loop.head for loop in stops] + [self.head]:
            todo, seen, count = [(0, 0, at, [])], set(), 0
            while todo:
                length, _, here, path = heapq.heappop(todo)
                if here == stop and path:
                    way += [one for step in path[:-1] for one in cost(step)]
                    break
                if here in seen:
                    continue
                seen.add(here)
                for following in leads[here]:
                    # Once around only: the head is passed at the end.
                    if following != self.head or stop == self.head:
                        count += 1
                        longer = length + (len(cost(following)) if following != stop else 0)
                        heapq.heappush(todo, (longer, count, following, path + [following]))
            else:
                return None
            at = stop
        return way


def functions(built, wanted):
    """Functions of an object file whose names `wanted` finds."""
    found, section, name, instructions = [], None, None, []

    def close():
        if instructions and re.search(wanted, name):
            found.append(Function(name, section, list(instructions)))
        instructions.clear()

    for line in run([tool("objdump"), "-d", "-C", "--no-show-raw-insn", built]).splitlines():
        if line.startswith("Disassembly of section "):
            close()
            section = line.removeprefix("Disassembly of section ").rstrip(":")
        elif head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            close()
            name = head[1]
        elif one := re.match(r" *([0-9a-f]+):\t(\S+)\s*(.*)", line):
            instructions.append(Instruction(int(one[1], 16), one[2], one[3].split(" //")[0]))
    close()
    return found


def frames(built, function, addresses):
    """For each address, the functions it was inlined from, by the debug information."""
    asked = "".join(f"{at:#x}\n" for at in addresses)
    command = [tool("addr2line"), "-C", "-f", "-i", "-a", "-e", built, "-j", function.section]
    answers, names = {}, []
    for line in run(command, input=asked).splitlines():
        if re.match(r"0x[0-9a-f]+$", line):
            names = answers.setdefault(int(line, 16), [])
        else:
            names.append(line)
    return answers


def build(package, manifest, work, built, more=()):
    """Compiles a package into one object file."""
    cache = work / f"{built.stem}-build"
    if not built.exists():
        # For cargo a build is fresh with or without this file.
        shutil.rmtree(cache, ignore_errors=True)
    command = ["cargo", "rustc", "--release", "-p", package, "--target", TARGET, "--manifest-path", manifest]
    run([*command, "--target-dir", cache, *more, "--", "--emit", f"obj={built}", *RUSTC])
    return built


def row(kernel, what, width, counted, unit, whole=""):
    """A line of the table. `unit`: 16-byte vectors of source, times outputs, that `counted` serves."""
    per = f"{len(counted) / unit:.2f}"
    sums = [
        sum(one.loads for one in counted),
        sum(one.stores for one in counted),
        sum(one.looks_up > 0 for one in counted),
        sum(one.xors for one in counted),
        sum(one.loads for one in counted if one.on_stack),
        sum(one.stores for one in counted if one.on_stack),
    ]
    return [kernel, what, str(width), str(len(counted)), per, *map(str, sums), whole]


def missing(kernel, what, wide):
    """The line of a loop that should be there: seen at once, rather than left out."""
    return [kernel, what, str(16 * wide), "not found"] + [""] * 8


def looked_up(instructions):
    """Products, of 16 bytes each: two look-ups a product."""
    return sum(one.looks_up for one in instructions) / 32


def spread(loop, kinds, stops, unit):
    """Instructions of a whole round a unit: the way around, and each inner loop as often as the code has its blocks."""
    way = loop.way_through(stops)
    if way is None:
        return "?"
    return f"{(len(way) + sum(n * len(inner.own()) for inner, n in kinds)) / unit:.2f}"


def ours(built):
    entry = re.compile(r"kernel::arm::(neon|neon_eor3)::(plain|dyadic|six3|fixed)(?:::<([^>]*)>)?$")
    width = re.compile(r"::sum::<hedgerow_codec::kernel::loops::Whole, (\d+)>")
    loops = defaultdict(list)
    for function in functions(built, r"kernel::arm::neon"):
        hot = [loop for loop in function.loops if looked_up(loop.own())]
        names = frames(built, function, [one.address for loop in hot for one in loop.own()])
        for loop in hot:
            seen = Counter()
            for one in loop.own():
                chain = names.get(one.address, []) if one.looks_up else []
                by = [m for m in map(entry.search, chain) if m]
                wide = [m for m in map(width.search, chain) if m]
                if by and wide:
                    seen[by[0].groups(), int(wide[0][1])] += 1
            if seen:
                (label, wide), _ = seen.most_common(1)[0]
                loops[label, wide].append(loop)
    rows = []
    for kernel in ("neon", "neon_eor3"):
        shown = {"neon": "NEON", "neon_eor3": "NEON, EOR3"}[kernel]
        numbers_of = lambda label: [int(n) for n in (label[2] or "").split(", ") if n.isdigit()]
        mine = sorted((one for one in loops if one[0][0] == kernel), key=lambda one: (one[0][1], numbers_of(one[0])))
        for label, wide in mine:
            _, form, parameters = label
            numbers = numbers_of(label)
            found = loops[label, wide]
            around = lambda one: next((l for l in one.function.loops if one in l.inner), None)
            if form == "plain" and numbers[1] == wide and parameters.endswith("false"):
                m = numbers[0]
                step = max((l for l in found if around(l)), key=lambda l: looked_up(l.own()), default=None)
                if step is None:
                    rows.append(missing(shown, f"plain, m = {m}", wide))
                    continue
                k, sources = PLAIN_SOURCES, int(looked_up(step.own()) / (m * wide))
                whole = spread(around(step), [(step, k // sources)], [step], k * m * wide)
                what = f"plain, m = {m}, {sources} sources"
                rows.append(row(shown, what, 16 * wide, step.own(), sources * m * wide, f"{whole} (RS-{k}-{m})"))
            elif form == "dyadic" and numbers[1] == wide:
                m, (code, blocks), kinds = numbers[0], DYADIC[numbers[0]], []
                for kind in blocks:
                    products = PRODUCTS[kind][m] * wide
                    step = next((l for l in found if around(l) and looked_up(l.own()) == products), None)
                    if step is None:
                        rows.append(missing(shown, f"dyadic, m = {m}, {SOURCES[kind]} columns", wide))
                        continue
                    kinds.append((step, blocks[kind], kind))
                k = sum(n * SOURCES[kind] for kind, n in blocks.items())
                for step, n, kind in kinds:
                    steps = [(one, n) for one, n, _ in kinds]
                    whole = spread(around(step), steps, [one for one, _ in steps], k * m * wide)
                    what = f"dyadic, m = {m}, {SOURCES[kind]} columns"
                    rows.append(row(shown, what, 16 * wide, step.own(), SOURCES[kind] * m * wide, f"{whole} ({code})"))
            elif form == "six3" and wide == max(w for l, w in mine if l[1] == "six3"):
                whole = f"{len(found[0].own()) / (18 * wide):.2f} (RS-6-3)"
                rows.append(row(shown, "twelve products", 16 * wide, found[0].own(), 18 * wide, whole))
            elif form == "fixed" and numbers[2] == wide:
                k, m = numbers[:2]
                what = f"fixed, k = {k}, m = {m}"
                whole = next((l for l in found if looked_up(l.own()) == k * m * wide), None)
                if whole is None:
                    # The compiler made a loop over the sources of it after all.
                    rows.append(missing(shown, what, wide))
                    continue
                per = f"{len(whole.own()) / (k * m * wide):.2f} (RS-{k}-{m})"
                rows.append(row(shown, what, 16 * wide, whole.own(), k * m * wide, per))
    return rows


def widest(function):
    return max(function.loops, key=lambda loop: (looked_up(loop.own()), -len(loop.own())), default=None)


def one_by_one(built, peer, wanted):
    """Loops that multiply one source and add it to one output."""
    rows = []
    for function in functions(built, wanted):
        loop = widest(function)
        n = looked_up(loop.own()) if loop else 0
        if n:
            what = re.sub(r".*::", "", function.name)
            per = f"{len(loop.own()) / n:.2f}"
            rows.append(row(peer, what, int(16 * n), loop.own(), n, f"{per} (any)"))
    return rows


def generated(built, peer):
    """Loops written out for one code, found by the function they were inlined from."""
    rows = []
    for function in functions(built, "try_encode_codegen_neon"):
        hot = [loop for loop in function.loops if looked_up(loop.own())]
        names = frames(built, function, [one.address for loop in hot for one in loop.own() if one.looks_up])
        for loop in hot:
            addresses = [one.address for one in loop.own() if one.looks_up]
            found = [m for at in addresses for m in map(re.compile(r"encode_(\d+)x(\d+)_neon").search, names[at]) if m]
            if not found:
                continue
            k, m = int(found[0][1]), int(found[0][2])
            n = looked_up(loop.own()) / (k * m)
            if n >= 1 and (k, m) in ((6, 3), (10, 4)):
                whole = f"{len(loop.own()) / (k * m * n):.2f} (RS-{k}-{m})"
                rows.append(row(peer, found[0][0], int(16 * n), loop.own(), k * m * n, whole))
    return rows


def sources_of(metadata, name):
    return next((pathlib.Path(p["manifest_path"]).parent for p in metadata["packages"] if p["name"] == name), None)


def peers(metadata, work, c_file):
    rows = []
    erasure = sources_of(metadata, "reed-solomon-erasure")
    c_file = c_file or (erasure and erasure / "simd_c" / "reedsolomon.c")
    if c_file and c_file.exists():
        built = work / "reedsolomon.o"
        # The options of its own build script.
        run([tool("gcc"), "-O3", "-std=c11", "-ffunction-sections", "-c", c_file, "-o", built])
        rows += one_by_one(built, "reed-solomon-erasure", r"^reedsolomon_gal_mul(_xor)?$")
    rustfs = sources_of(metadata, "rustfs-erasure-codec")
    if rustfs:
        # Features of a dependency can only be chosen by a package that depends on it.
        package = work / "peer"
        package.mkdir(exist_ok=True)
        (package / "lib.rs").touch()
        shutil.copy(pathlib.Path(metadata["workspace_root"]) / "Cargo.lock", package)
        (package / "Cargo.toml").write_text(
            '[package]\nname = "peer"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[lib]\npath = "lib.rs"\n'
            "[dependencies.rustfs-erasure-codec]\n"
            f'path = {json.dumps(str(rustfs))}\nfeatures = ["simd-accel"]\n'
        )
        built = build("rustfs-erasure-codec", package / "Cargo.toml", work, work / "rustfs.o")
        rows += one_by_one(built, "rustfs-erasure-codec", r"rust_neon_mul_slice(_xor)?$")
        rows += generated(built, "rustfs-erasure-codec")
    return rows


HEAD = ["kernel", "loop", "bytes", "instructions", "a unit", "loads", "stores", "look-ups", "XORs"]
HEAD += ["reloads", "spills", "whole round"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    c_file = "reed-solomon-erasure's reedsolomon.c, if not the copy that cargo has"
    arguments.add_argument("--peer", type=pathlib.Path, metavar="FILE", help=c_file)
    arguments.add_argument("--no-peers", action="store_true", help="only the codec's own loops")
    chosen = arguments.parse_args()
    metadata = json.loads(run(["cargo", "metadata", "--format-version", "1"]))
    work = pathlib.Path(metadata["target_directory"]) / "neon-loops"
    work.mkdir(parents=True, exist_ok=True)
    root = pathlib.Path(metadata["workspace_root"]) / "Cargo.toml"
    rows = ours(build("hedgerow-codec", root, work, work / "hedgerow.o", ["--features", "std"]))
    if not chosen.no_peers:
        rows += peers(metadata, work, chosen.peer)
    widths = [max(map(len, column)) for column in zip(HEAD, *rows)]
    left = (0, 1, len(HEAD) - 1)
    rule = ["-" * n if i in left else "-" * (n - 1) + ":" for i, n in enumerate(widths)]
    for line in [HEAD, rule, *rows]:
        cells = [cell.ljust(n) if i in left else cell.rjust(n) for i, (cell, n) in enumerate(zip(line, widths))]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
