"""Boxes, arrows and texts as SVG, in a light and a dark version. `Scripts/pictures` draws with it."""

from html import escape

WIDTH = 860
SMALL, NORMAL, LARGE = 12.5, 15, 17

# Each kind of box: the colours of its area and its outline, and whether the outline is dashed.
LIGHT = {
    "card": "#ffffff", "text": "#1f2328", "note": "#57606a", "line": "#57606a", "alarm": "#cf222e",
    "box": ("#f6f8fa", "#57606a", False), "main": ("#ddf4ff", "#0969da", False), "old": ("#fff8c5", "#9a6700", True),
    "good": ("#dafbe1", "#1a7f37", False), "bad": ("#ffebe9", "#cf222e", False), "none": ("#ffffff", "#8c959f", True),
}
DARK = {
    "card": "#0d1117", "text": "#e6edf3", "note": "#9da7b3", "line": "#9da7b3", "alarm": "#ff7b72",
    "box": ("#161b22", "#8b949e", False), "main": ("#121d2f", "#58a6ff", False), "old": ("#272115", "#d29922", True),
    "good": ("#12261e", "#3fb950", False), "bad": ("#25171c", "#ff7b72", False), "none": ("#0d1117", "#6e7681", True),
}


def width(text, size, is_code=False):
    """Returns the width of a text in the widest of the usual fonts, DejaVu Sans."""
    if is_code:
        return 0.61 * size * len(text)
    return size * sum(
        0.32 if letter in " ilj.,:;'|!I()/-" else 0.4 if letter in "ftr" else 0.9 if letter in "mwMW" else 0.72 if letter.isupper() else 0.62
        for letter in text)


class Picture:
    """A picture of the width `WIDTH`. It refuses a text that is wider than its box, or that is outside the picture."""

    def __init__(self, height, title, note, label):
        """`label` is the content in words, for readers who do not see the picture."""
        self.height, self.label, self.parts = height, label, []
        self.text(20, 34, title, LARGE, is_bold=True)
        if note:
            self.text(20, 57, note, SMALL)

    def text(self, x, y, text, size=NORMAL, anchor="start", is_bold=False, is_code=False, colour=None, room=None):
        """Adds a text. `y` is its base line. `room` is the width that it may have."""
        # A bold text is at most a tenth wider.
        needed = width(text, size, is_code) * (1.1 if is_bold else 1)
        left = x - {"start": 0, "middle": needed / 2, "end": needed}[anchor]
        if room is not None and needed > room or left < 0 or left + needed > WIDTH:
            raise ValueError(f"this text is {needed:.0f} wide and does not fit: {text}")
        style = f'font-size="{size:g}"' if size != NORMAL else ""
        style += f' text-anchor="{anchor}"' if anchor != "start" else ""
        style += ' font-weight="600"' if is_bold else ""
        style += ' font-family="ui-monospace, monospace"' if is_code else ""
        colour = colour or ("note" if size == SMALL and not is_code else "text")
        self.parts.append(f'<text x="{x:g}" y="{y:g}" fill="{{{colour}}}" {style.strip()}>{escape(text)}</text>'.replace(" >", ">"))

    def box(self, x, y, w, h, lines, kind="box", is_code=False):
        """Adds a box with centred lines. The first line is large, the others are small."""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="6" {{{kind}}}/>')
        if isinstance(lines, str):
            lines = [lines]
        top = y + h / 2 - (len(lines) - 1) * 9 + 5
        for index, line in enumerate(lines):
            size = NORMAL if index == 0 else SMALL
            self.text(x + w / 2, top + index * 18, line, 13.5 if is_code and index == 0 else size, "middle", is_code=is_code and index == 0, room=w - 8)

    def line(self, path, colour="line", is_dashed=False, has_head=True):
        """Adds a line with an arrow at its end. `path` is a path of SVG."""
        dashes = ' stroke-dasharray="5 4"' if is_dashed else ""
        head = f' marker-end="url(#{colour})"' if has_head else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{{{colour}}}" stroke-width="1.5"{dashes}{head}/>')

    def crash(self, x, y):
        """Adds a cross: the process is killed, or the power fails."""
        self.parts.append(f'<path d="M{x - 7:g} {y - 7:g}l14 14m0 -14l-14 14" stroke="{{alarm}}" stroke-width="3"/>')

    def svg(self, colours):
        names = {name: colour for name, colour in colours.items() if isinstance(colour, str)}
        for name, (area, outline, is_dashed) in ((n, c) for n, c in colours.items() if not isinstance(c, str)):
            names[name] = f'fill="{area}" stroke="{outline}" stroke-width="1.5"' + (' stroke-dasharray="5 4"' if is_dashed else "")
        heads = [
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            f'<path d="M0 0 8 4 0 8z" fill="{colours[name]}"/></marker>' for name in ("line", "alarm")]
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" viewBox="0 0 {WIDTH} {self.height}" '
            f'font-family="system-ui, sans-serif" '
            f'font-size="{NORMAL}" role="img" aria-label="{escape(self.label)}">',
            "<defs>" + "".join(heads) + "</defs>", f'<rect width="{WIDTH}" height="{self.height}" rx="8" fill="{colours["card"]}"/>']
        return "\n".join(lines + [part.format(**names) for part in self.parts] + ["</svg>", ""])
