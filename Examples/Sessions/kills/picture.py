"""A picture of the counts."""

from .life import STORES

STYLE = """
    .lost { fill: #cf222e }
    .back { fill: #9a6700 }
    .zero { fill: #1a7f37; font-weight: 600 }
    .axis { stroke: #d0d7de; stroke-width: 1 }
    text { fill: #1f2328 }
    .small { font-size: 12.5px; fill: #57606a }
"""
LEFT, RIGHT, TOP, ROW, BAR = 210, 760, 92, 62, 18


def draw(report):
    """Returns the counts as SVG: for each store, a bar for the lost values and one for the resurrected values."""
    rows = [
        (STORES[store], *(sum(row[kind][name] for kind in ("sessions", "tokens")) for name in ("lost", "resurrected")),
         row["sessions"]["acknowledged"] + row["tokens"]["acknowledged"])
        for store, row in report["stores"].items()]
    most = max([1] + [max(lost, back) for _, lost, back, _ in rows])
    kills = max(row["kills"] for row in report["stores"].values())
    processes = "one process" if report["processes"] == 1 else "%d processes" % report["processes"]
    height = TOP + ROW * len(rows) + 20
    label = "After %d kills: " % kills + "; ".join(
        "%s lost %d values and resurrected %d" % (name, lost, back) for name, lost, back, _ in rows) + "."
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="%d" viewBox="0 0 860 %d" font-family="system-ui, sans-serif" font-size="15" '
        'role="img"' % (height, height),
        '     aria-label="%s">' % label, "  <style>%s  </style>" % STYLE,
        '  <rect width="860" height="%d" rx="8" fill="#ffffff"/>' % height,
        '  <text x="20" y="34" font-size="17" font-weight="600">Sessions and tokens after %s kills of a server</text>'
        % format(kills, ","),
        '  <text x="20" y="58" class="small">%s, SIGKILL at a random moment under load; only acknowledged changes count</text>'
        % processes.capitalize(),
        '  <rect class="lost" x="600" y="25" width="12" height="12"/><text x="618" y="36" class="small">lost</text>',
        '  <rect class="back" x="670" y="25" width="12" height="12"/><text x="688" y="36" class="small">resurrected</text>',
        '  <path class="axis" d="M%d %dV%d"/>' % (LEFT, TOP - 10, height - 16),
    ]
    for index, (name, lost, back, changes) in enumerate(rows):
        top = TOP + ROW * index
        lines.append('  <text x="20" y="%d">%s</text>' % (top + 18, name))
        lines.append('  <text x="20" y="%d" class="small">of %s changes</text>' % (top + 36, format(changes, ",")))
        for offset, value, shape in ((0, lost, "lost"), (BAR + 4, back, "back")):
            # A count that is not 0 has a visible bar.
            width = max(3, round((RIGHT - LEFT) * value / most)) if value else 0
            if value:
                lines.append('  <rect class="%s" x="%d" y="%d" width="%d" height="%d"/>' % (shape, LEFT, top + offset, width, BAR))
            lines.append('  <text x="%d" y="%d" class="%s">%s</text>' % (
                LEFT + width + 8, top + offset + 14, "small" if value else "zero", format(value, ",")))
    return "\n".join(lines + ["</svg>"]) + "\n"
