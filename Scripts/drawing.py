"""Line charts as SVG, with dark lines on a white card, so that they can be read on light and dark pages."""

import math
from dataclasses import dataclass, field
from html import escape

WIDTH, LEFT, RIGHT, PLOT, GAP = 860, 84, 836, 130, 58
COLOURS = ["#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700", "#57606a"]
STYLE = """
    .axis { stroke: #57606a; stroke-width: 1 }
    .grid { stroke: #d0d7de; stroke-width: 1 }
    .mark { stroke: #9a6700; stroke-width: 1; stroke-dasharray: 3 3 }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round }
    text { fill: #1f2328 }
    .small { font-size: 12.5px; fill: #57606a }
"""


@dataclass
class Panel:
    """One chart of a picture.

    title   the text above it, with the unit of y
    lines   the points (x, y) of each line by its name, in the order of x; a y of None is a gap
    marks   the x of vertical lines
    is_log  whether the y axis is logarithmic; otherwise it begins at 0
    """

    title: str
    lines: dict
    marks: list = field(default_factory=list)
    is_log: bool = False


def draw(title, note, panels, x_name, label, columns=None):
    """Returns a picture with the panels one below the other.

    note     a text below the title
    label    the result in words, for readers who do not see the picture
    columns  the values of x, if all distances between them are drawn alike; otherwise x is linear
    """
    height = 74 + len(panels) * (PLOT + GAP) + 26
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="15" '
        'role="img"' % (WIDTH, height, WIDTH, height),
        '     aria-label="%s">' % escape(label), "  <style>%s  </style>" % STYLE,
        '  <rect width="%d" height="%d" rx="8" fill="#ffffff"/>' % (WIDTH, height),
        '  <text x="20" y="34" font-size="17" font-weight="600">%s</text>' % escape(title),
        '  <text x="20" y="58" class="small">%s</text>' % escape(note),
    ]
    place, marks = across(panels, columns)
    for index, panel in enumerate(panels):
        parts += chart(panel, 74 + index * (PLOT + GAP) + 34, place, marks)
    parts.append('  <text x="%d" y="%d" text-anchor="middle" class="small">%s</text>' % ((LEFT + RIGHT) / 2, height - 12, escape(x_name)))
    return "\n".join(parts + ["</svg>"]) + "\n"


def across(panels, columns):
    """Returns the function that maps x to a coordinate, and the values of x that are written below the charts."""
    if columns:
        step = (RIGHT - LEFT) / len(columns)
        return lambda x: LEFT + step * (columns.index(x) + 0.5), columns
    every = [x for panel in panels for line in panel.lines.values() for x, _ in line] or [0, 1]
    low, high = min(every), max(every)
    if high == low:
        high = low + 1
    return lambda x: LEFT + (RIGHT - LEFT) * (x - low) / (high - low), [x for x in ticks(low, high, 8) if low <= x <= high]


def chart(panel, top, place, marks):
    """Returns the elements of one chart. `top` is the y coordinate of its upper end."""
    values = [y for line in panel.lines.values() for _, y in line if y is not None and (y > 0 or not panel.is_log)] or [1]
    bottom = top + PLOT
    if panel.is_log:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        rows = [10.0**power for power in range(low, max(high, low + 1) + 1)]
        down = lambda y: bottom - PLOT * (math.log10(y) - low) / (max(high, low + 1) - low)
    else:
        rows = ticks(0, max(max(values), 1e-9) * 1.05, 4)
        down = lambda y: bottom - PLOT * y / rows[-1]
    parts = ['  <text x="%d" y="%d">%s</text>' % (LEFT, top - 10, escape(panel.title))]
    for row in rows:
        parts.append('  <path class="%s" d="M%d %.1fH%d"/>' % ("axis" if row == rows[0] else "grid", LEFT, down(row), RIGHT))
        parts.append('  <text x="%d" y="%.1f" text-anchor="end" class="small">%s</text>' % (LEFT - 8, down(row) + 4, number(row)))
    for x in marks:
        parts.append('  <text x="%.1f" y="%d" text-anchor="middle" class="small">%s</text>' % (place(x), bottom + 17, number(x)))
    for x in panel.marks:
        parts.append('  <path class="mark" d="M%.1f %dV%d"/>' % (place(x), top, bottom))
    end = RIGHT
    for index, (name, line) in reversed(list(enumerate(panel.lines.items()))):
        colour = COLOURS[index % len(COLOURS)]
        for run in runs(line, panel.is_log):
            points = [(place(x), down(y)) for x, y in run]
            parts.append('  <path class="line" stroke="%s" d="M%s"/>' % (colour, "L".join("%.1f %.1f" % point for point in points)))
            if len(points) < 20:
                parts += ['  <circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (x, y, colour) for x, y in points]
        # The names of the lines are to the right of the title, from right to left.
        parts.append('  <text x="%d" y="%d" text-anchor="end" class="small">%s</text>' % (end, top - 10, escape(name)))
        end -= 7.2 * len(name) + 16
        parts.append('  <rect x="%d" y="%d" width="10" height="10" fill="%s"/>' % (end, top - 19, colour))
        end -= 14
    return parts


def runs(line, is_log):
    """Returns the parts of a line between its gaps."""
    found = [[]]
    for x, y in line:
        if y is None or (is_log and y <= 0):
            found.append([])
        else:
            found[-1].append((x, y))
    return [run for run in found if run]


def ticks(low, high, count):
    """Returns round numbers from at most `low` to at least `high`, about `count` of them."""
    rough = (high - low) / count
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    return [step * index for index in range(math.floor(low / step), math.ceil(high / step - 1e-9) + 1)]


def number(value):
    """Returns a number with separators and without needless digits."""
    return format(round(value), ",") if abs(value) >= 10 or value == round(value) else "%.3g" % value
