#!/usr/bin/env python3
"""Writes Benchmarks/RESULTS.md and its plots from the JSON files of several runs of the benchmarks (`Scripts/bench results`). Two plots are
also written for the guide Reliability, each in a light and a dark version.

usage: Scripts/benchmarks/results.py [--quick] FILE...
"""
import json, math, os, platform, re, statistics, subprocess, sys
from html import escape
from pathlib import Path

FOLDER = Path("Benchmarks")
RESOURCES = Path("Sources/LocalData/Documentation.docc/Resources")
IN_THE_GUIDE = ["get", "set"]
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
COLOURS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#8a6d1d"]


def command(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    """Describes the machine in one paragraph."""
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    swift = re.search(r"Swift version ([\d.]+)", command("swift", "--version"))
    parts = [
        f"{processor}, {os.cpu_count()} cores", f"Linux {platform.release()}",
        f"temporary files on {command('stat', '-f', '-c', '%T', os.environ.get('TMPDIR', '/tmp'))}",
        f"Swift {swift.group(1) if swift else '?'}", command("gnome-keyring-daemon", "--version").splitlines()[0] if command("gnome-keyring-daemon", "--version") else "",
    ]
    return "; ".join(part for part in parts if part)


def short(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def amount(value, unit):
    """Formats a value with a suitable unit. A duration must be in seconds."""
    if unit != "s":
        return short(value) + ("" if unit.startswith("/") else " ") + unit
    for name, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{short(value / size)} {name}"
    return f"{short(value / 1e-6)} µs"


def gathered(documents):
    """Collects the rows of all runs. Each row has one value for each run; durations are in seconds."""
    rows = {}
    for document in documents:
        for row in document["rows"]:
            entry = rows.setdefault((row["group"], row["name"]), {"size": row.get("size"), "values": [], "goal": None, "ratios": {}})
            isDuration = row["unit"] in SECONDS
            entry["unit"] = "s" if isDuration else row["unit"]
            entry["values"].append(row["value"] * SECONDS.get(row["unit"], 1))
            if row.get("goal"):
                entry["goal"] = (row["goal"]["value"] * SECONDS.get(row["unit"], 1), row["goal"]["isLeast"])
            for ratio in row["ratios"]:
                kept = entry["ratios"].setdefault(ratio["peer"], {"values": [], "goal": ratio.get("goal")})
                kept["values"].append(ratio["value"])
    return rows


def spread(values):
    """Returns the difference between the largest and the smallest value of the runs, as a part of the median."""
    middle = statistics.median(values)
    return f"{(max(values) - min(values)) / middle * 100:.0f} %" if middle else ""


def verdict(values, bound, isLeast):
    """Returns whether the median reaches a goal. Uncertain if the runs differ by more than the median's distance to the goal."""
    middle = statistics.median(values)
    if len(values) < 2 or max(values) - min(values) > abs(middle - bound):
        return "*uncertain*"
    return "yes" if (middle >= bound if isLeast else middle <= bound) else "**no**"


def table(group, rows):
    lines = [f"## {group}", "", "| | median | spread | against | goal | reached |", "|---|---:|---:|---|---|---|"]
    for (_, name), row in rows:
        middle = statistics.median(row["values"])
        first = [name, amount(middle, row["unit"]), spread(row["values"])]
        if row["goal"]:
            bound, isLeast = row["goal"]
            lines.append("| " + " | ".join(first + ["", ("≥ " if isLeast else "≤ ") + amount(bound, row["unit"]), verdict(row["values"], bound, isLeast)]) + " |")
            first = ["", "", ""]
        for peer, ratio in row["ratios"].items():
            value = statistics.median(ratio["values"])
            goal = ratio["goal"]
            last = [("≥ " if goal["isLeast"] else "≤ ") + f"{goal['value']:g}x", verdict(ratio["values"], goal["value"], goal["isLeast"])] if goal else ["", ""]
            lines.append("| " + " | ".join(first + [f"{value:.2f}x of {peer} ({spread(ratio['values'])})"] + last) + " |")
            first = ["", "", ""]
        if not row["goal"] and not row["ratios"]:
            lines.append("| " + " | ".join(first + ["", "", ""]) + " |")
    return lines + [""]


# --- Plots

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 80, 40, 50, 60


def ticks(low, high):
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def frame(title, xs, ys, xlabel, ylabel, xname, yname):
    """Draws the axes of a plot with two logarithmic scales. Returns the functions that map a value to a coordinate, too."""
    xticks, yticks = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    if len(xticks) == 1: xticks.append(xticks[0] * 10)
    if len(yticks) == 1: yticks.append(yticks[0] * 10)
    span = lambda marks: math.log10(marks[-1] / marks[0])
    x = lambda value: LEFT + (WIDTH - LEFT - RIGHT) * math.log10(value / xticks[0]) / span(xticks)
    y = lambda value: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log10(value / yticks[0]) / span(yticks)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>']
    for mark in xticks:
        parts.append(f'<line x1="{x(mark):.1f}" y1="{TOP}" x2="{x(mark):.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x(mark):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{escape(xname(mark))}</text>')
    for mark in yticks:
        parts.append(f'<line x1="{LEFT}" y1="{y(mark):.1f}" x2="{WIDTH - RIGHT}" y2="{y(mark):.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{escape(yname(mark))}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(xlabel)}</text>')
    parts.append(f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {HEIGHT / 2})">{escape(ylabel)}</text>')
    return parts, x, y


def legend(parts, names):
    left = LEFT
    for index, name in enumerate(names):
        parts.append(f'<rect x="{left}" y="30" width="10" height="10" fill="{COLOURS[index % len(COLOURS)]}"/>')
        parts.append(f'<text x="{left + 14}" y="39">{escape(name)}</text>')
        left += 30 + 6.6 * len(name)


def against_size(name, title, series):
    """Plots the time of one operation against the number of rows, keys or records."""
    series = {label: sorted(points) for label, points in series.items() if len(points) > 1}
    if not series:
        return None
    points = [point for part in series.values() for point in part]
    parts, x, y = frame(
        title, [p[0] for p in points], [p[1] for p in points], "how many there are", "time of one", lambda mark: f"{mark:,.0f}",
        lambda mark: amount(mark, "s"))
    for index, part in enumerate(series.values()):
        colour = COLOURS[index % len(COLOURS)]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' + " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in part) + '"/>')
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3.5" fill="{colour}"/>' for a, b in part]
    legend(parts, series)
    return write(name, parts)


def histogram(name, title, times):
    """Plots how often each latency occurred, in bins of a tenth of a decade. Times are in microseconds."""
    times = sorted(value for value in times if value > 0)
    bins = {}
    for value in times:
        bins[math.floor(math.log10(value) * 10)] = bins.get(math.floor(math.log10(value) * 10), 0) + 1
    edges = [10 ** (index / 10) * 1e-6 for index in (min(bins), max(bins) + 1)]
    parts, x, y = frame(
        title, edges, [1, max(bins.values())], "time of one", "how many of " + f"{len(times):,}", lambda mark: amount(mark, "s"), lambda mark: f"{mark:,.0f}")
    for index, count in bins.items():
        left, right = x(10 ** (index / 10) * 1e-6), x(10 ** ((index + 1) / 10) * 1e-6)
        bottom, top = HEIGHT - BOTTOM, min(y(max(count, 1)), HEIGHT - BOTTOM - 2)
        parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(1, right - left - 1):.1f}" height="{bottom - top:.1f}" fill="{COLOURS[0]}"/>')
    for part, label in ((0.5, "median"), (0.99, "99 %")):
        value = times[min(len(times) - 1, int(len(times) * part))]
        parts.append(f'<line x1="{x(value * 1e-6):.1f}" y1="{TOP - 4}" x2="{x(value * 1e-6):.1f}" y2="{HEIGHT - BOTTOM}" stroke="{COLOURS[1]}" stroke-dasharray="4 3"/>')
        parts.append(f'<text x="{x(value * 1e-6) + 4:.1f}" y="{TOP + 8 + (14 if part > 0.9 else 0)}" fill="{COLOURS[1]}">{label}: {escape(amount(value * 1e-6, "s"))}</text>')
    return write(name, parts)


def write(name, parts):
    path = FOLDER / "plots" / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    picture = "\n".join(parts + ["</svg>", ""])
    path.write_text(picture)
    if name in IN_THE_GUIDE:
        (RESOURCES / f"bench-{name}.svg").write_text(picture)
        (RESOURCES / f"bench-{name}~dark.svg").write_text(dark(picture))
    return f"![{name}](plots/{name}.svg)"


def dark(picture):
    """The picture with light lines and texts on a dark background."""
    for light, replacement in [('fill="white"', 'fill="#0d1117"'), ("#e4e4e4", "#30363d"), ("<svg ", '<svg fill="#e6edf3" ')]:
        picture = picture.replace(light, replacement)
    return picture


def curves(rows, groups, label):
    """Returns the points of a plot against size. A rate is converted to the time of one operation."""
    series = {}
    for (group, name), row in rows.items():
        if row["size"] and re.search(groups, group):
            value = statistics.median(row["values"])
            series.setdefault(label(group, name), []).append((row["size"], 1 / value if row["unit"] == "/s" else value))
    return series


def bare(name):
    """Removes the size from the name of a row."""
    return re.sub(r",? ?[\d,]+ (rows|keys|records)$", "", name)


def main(files, options):
    documents = [json.loads(Path(file).read_text()) for file in files]
    rows = gathered(documents)
    lines = [
        "# Results", "",
        f"Written by `{' '.join(['Scripts/bench results'] + options)}` on {command('date', '-u', '+%Y-%m-%d')}, at commit {command('git', 'rev-parse', '--short=12', 'HEAD')}: "
        f"the medians of {len(files)} runs. Measured on: {machine()}.", "",
        "Two figures of a ratio were measured in turn, round by round, on the same machine. The spread is the difference between the largest and the smallest",
        "of the runs, as a part of the median: a figure that differs by less says nothing. Ratios are the medians of the runs' ratios, with their spread",
        "in parentheses. A goal is *uncertain* if the runs differ by more than the median's distance to the goal. Rows without a goal are for comparison.", "",
    ]
    plots = [
        against_size("get", "A hot get of five fields, encrypted SQLite", curves(rows, "^Hot get of five fields", lambda _, name: bare(name).split(":")[0])),
        against_size("set", "A durable set in a property list", curves(rows, "^Durable set in a property list", lambda _, name: bare(name).split(":")[0])),
        against_size("open", "Opening and the first get, encrypted SQLite", curves(rows, "^Open", lambda _, name: bare(name))),
        against_size("sweep", "A key of a sweep", curves(rows, "^Sweep from", lambda group, _: group.removeprefix("Sweep from ").split(":")[0])),
        against_size("records", "A record of a collection", curves(rows, "records of a collection", lambda _, name: name.split(" (")[0])),
    ]
    merged = {}
    for document in documents:
        for name, times in document["histograms"].items():
            merged.setdefault(name, []).extend(times)
    plots += [histogram("latency-" + re.sub(r"\W+", "-", name), f"Latency: {name}", times) for name, times in merged.items()]
    groups = {}
    for key, row in rows.items():
        groups.setdefault(key[0], []).append((key, row))
    for group, part in groups.items():
        lines += table(group, part)
    lines += ["## Plots", ""] + [line for plot in plots if plot for line in (plot, "")]
    (FOLDER / "RESULTS.md").write_text("\n".join(lines).rstrip() + "\n")


if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)
main([word for word in sys.argv[1:] if not word.startswith("--")], [word for word in sys.argv[1:] if word.startswith("--")])
