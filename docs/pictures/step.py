#!/usr/bin/env python3
"""Draws a step of LazyDP: step-light.svg and step-dark.svg, beside this file.

Usage: step.py            writes them
       step.py --check    exits with 1 if they are not what this script would write
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
WIDTH, HEIGHT = 700, 476
COLUMNS, ROWS = (28, 260, 492), (58, 164, 270, 394)  # left and upper edges of boxes
BOX_WIDTH, BOX_HEIGHT = 180, 62

TITLE = "A step of LazyDP"
DESCRIPTION = (
    "In every step: a Poisson sample of examples; the rows it reads settle, that is, receive the "
    "noise they owe; they are pooled and the model runs forward; one backward pass; every "
    "example's gradient is clipped to norm C and added up; dense layers take gradient and noise "
    "now, tables take the gradient now and the noise later. After the last step every row settles, "
    "and only then the model is released."
)
INVARIANT = ("A row that is read after", "step t carries all the noise", "of steps 1 … t.")

COLOURS = {
    "light": dict(ink="#1f2328", quiet="#59636e", edge="#8c959f", box="#f6f8fa",
                  late="#0f766e", late_box="#d9f2ee", state="#7c4a03", state_box="#fdf1dc"),
    "dark": dict(ink="#e6edf3", quiet="#9da7b3", edge="#6e7681", box="#1c2128",
                 late="#5ec8b8", late_box="#0f3531", state="#e3b873", state_box="#3a2a10"),
}  # fmt: skip


class Picture:
    """A list of SVG elements in one set of colours."""

    def __init__(self, colours):
        """Begins an empty picture."""
        self.colours = colours
        self.parts = []

    def text(self, x, y, words, colour="ink", size=15, anchor="middle", style=""):
        """Writes one line."""
        self.parts.append(
            f'<text x="{x}" y="{y}" fill="{self.colours[colour]}" font-size="{size}" '
            f'text-anchor="{anchor}"{style}>{escape(words)}</text>'
        )

    def box(self, column, row, head, line, kind=""):
        """Draws a box with a head and a line below it; kind: "", "late" or "state"."""
        x, y = COLUMNS[column], ROWS[row]
        fill = self.colours[f"{kind}_box" if kind else "box"]
        edge = self.colours[kind or "edge"]
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8" '
            f'fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'
        )
        middle = x + BOX_WIDTH // 2
        self.text(middle, y + 26, head, style=' font-weight="600"')
        self.text(middle, y + 47, line, "quiet", 13)

    def arrow(self, *points, kind="edge"):
        """Draws a line through the points, with a head at the last."""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{self.colours[kind]}" '
            f'stroke-width="1.8" marker-end="url(#{kind})"/>'
        )

    def svg(self):
        """Returns the file's text."""
        heads = "".join(
            f'<marker id="{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0,0 L10,5 L0,10 z" '
            f'fill="{self.colours[kind]}"/></marker>'
            for kind in ("edge", "late")
        )
        return "\n".join(
            [
                "<!-- Made by docs/pictures/step.py. -->",
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="system-ui, sans-serif">',
                f"<title>{TITLE}</title>",
                f"<desc>{escape(DESCRIPTION)}</desc>",
                f"<defs>{heads}</defs>",
                *self.parts,
                "</svg>\n",
            ]
        )


def draw(colours):
    """Returns the picture as SVG."""
    p = Picture(colours)
    left, centre, right = COLUMNS
    half = BOX_WIDTH // 2
    top = list(ROWS)
    middle = [y + BOX_HEIGHT // 2 for y in ROWS]
    bottom = [y + BOX_HEIGHT for y in ROWS]

    p.parts.append(
        f'<rect x="10" y="30" width="{WIDTH - 20}" height="336" rx="12" fill="none" '
        f'stroke="{colours["edge"]}" stroke-dasharray="5 5"/>'
    )
    p.text(16, 19, "every step t", "quiet", 13, "start")
    p.text(WIDTH - 16, 19, "one loop, seven algorithms", "quiet", 13, "end")

    p.box(0, 0, "Poisson sample", "of examples")
    p.box(1, 0, "Settle", "rows that the batch reads", "late")
    p.box(2, 0, "Forward", "pool, then dense layers")
    p.box(1, 1, "Embedding tables", "history: 4 bytes a row", "state")
    p.box(2, 1, "Backward", "one pass for all")
    p.box(0, 2, "Dense layers", "gradient and noise now")
    p.box(1, 2, "Update", "gradient now, noise late", "late")
    p.box(2, 2, "Clip and sum", "each example to norm C")
    p.box(1, 3, "Settle every row", "after the last step", "late")
    p.box(2, 3, "Release", "only now may it leave")

    slanted = ' font-style="italic"'
    for line, words in enumerate(INVARIANT):
        p.text(left + half, top[1] + 18 + 20 * line, words, "quiet", 13, style=slanted)

    p.arrow((left + BOX_WIDTH, middle[0]), (centre - 2, middle[0]))
    p.arrow((centre + BOX_WIDTH, middle[0]), (right - 2, middle[0]))
    p.arrow((right + half, bottom[0]), (right + half, top[1] - 2))
    p.arrow((right + half, bottom[1]), (right + half, top[2] - 2))
    p.arrow((right, middle[2]), (centre + BOX_WIDTH + 2, middle[2]))
    below = bottom[2] + 18
    p.arrow(
        *((right + half, bottom[2]), (right + half, below), (left + half, below)),
        (left + half, bottom[2] + 2),
    )
    p.arrow((centre + half, top[2]), (centre + half, bottom[1] + 2), kind="late")
    p.arrow((centre + half, top[1]), (centre + half, bottom[0] + 2), kind="late")
    p.text(centre + half + 10, bottom[0] + 27, "owed noise", "late", 13, "start")
    p.text(centre + half + 10, bottom[1] + 27, "gradients", "late", 13, "start")
    p.arrow((centre + BOX_WIDTH, middle[3]), (right - 2, middle[3]), kind="late")
    return p.svg()


def main():
    """Writes the pictures, or compares them."""
    stale = 0
    for name, colours in COLOURS.items():
        path, text = HERE / f"step-{name}.svg", draw(colours)
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"FAILED: {path.name} is not what docs/pictures/step.py makes; run it")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
