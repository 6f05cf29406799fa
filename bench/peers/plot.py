# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Bars with ranges as an SVG text, by hand."""
from xml.sax.saxutils import escape

WIDTH, NAME, BAR, GAP, PANEL = 940, 160, 18, 6, 34
COLOURS = [("lattice", "#1f6f5c"), ("llama.cpp", "#b5651d"), ("", "#6b7a8f")]
FONT = 'font-family="sans-serif" font-size="12"'


def colour(name):
    return next(c for start, c in COLOURS if name.startswith(start))


def panel(label, bars, top):
    """One panel from `top` on: its lines, and where it ends. A bar is its median, the thin line its range."""
    out = [f'<text x="10" y="{top + 16}" {FONT} font-weight="bold">{escape(label)}</text>']
    longest = max(s["max"] for _, s in bars)
    scale = (WIDTH - NAME - 90) / longest
    y = top + PANEL - 8
    for name, s in bars:
        middle = y + BAR / 2
        out.append(f'<text x="{NAME - 8}" y="{middle + 4:.1f}" {FONT} text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect x="{NAME}" y="{y}" width="{s["median"] * scale:.1f}" height="{BAR}" fill="{colour(name)}"/>')
        out.append(f'<line x1="{NAME + s["min"] * scale:.1f}" x2="{NAME + s["max"] * scale:.1f}" y1="{middle}" y2="{middle}" '
                   'stroke="#111" stroke-width="1.5"/>')
        out.append(f'<text x="{NAME + s["max"] * scale + 6:.1f}" y="{middle + 4:.1f}" {FONT}>{s["median"]:.1f}</text>')
        y += BAR + GAP
    return out, y + GAP


def bars(title, panels):
    """panels: (label, [(name, {"median", "min", "max"})])"""
    body, y = [f'<text x="10" y="20" {FONT} font-weight="bold">{escape(title)}</text>'], 30
    for label, values in panels:
        lines, y = panel(label, [(n, s) for n, s in values if s], y)
        body += lines
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}">\n'
            f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n' + "\n".join(body) + "\n</svg>\n")
