"""Draws curves as SVG, two plots above each other.

    text = draw([("loss", {"training": [(0, 3.1), (10, 2.0)]}), ("held-out acceptance", {"top 1": [(0, 0.1), (10, 0.4)]})])
"""
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f")
WIDTH, HEIGHT, LEFT, TOP = 640, 240, 60, 30


def scale(values, begin, end):
    least, most = min(values), max(values)
    span = (most - least) or 1
    return least, most, lambda value: begin + (value - least) / span * (end - begin)


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;")


def plot(title, curves, top):
    points = [point for curve in curves.values() for point in curve] or [(0, 0)]
    first, last, x = scale([point[0] for point in points], LEFT, WIDTH - 150)
    least, most, y = scale([point[1] for point in points], top + HEIGHT - 30, top + TOP)
    text = lambda at, line, words, more="": f'<text x="{at:.1f}" y="{line:.1f}" font-size="12"{more}>{escaped(words)}</text>'
    yield text(LEFT, top + 16, title, ' font-weight="bold"')
    yield f'<path d="M{LEFT} {top + TOP}V{top + HEIGHT - 30}H{WIDTH - 150}" fill="none" stroke="black"/>'
    for value, place in ((least, y(least)), (most, y(most))):
        yield text(4, place + 4, f"{value:.4g}")
    yield text(x(first), top + HEIGHT - 12, first)
    yield text(x(last) - 24, top + HEIGHT - 12, last)
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in curve)
        yield f'<polyline points="{places}" fill="none" stroke="{colour}"/>'
        yield text(WIDTH - 140, top + TOP + 16 * number + 10, name, f' fill="{colour}"')


def draw(plots):
    lines = [line for number, (title, curves) in enumerate(plots) for line in plot(title, curves, number * HEIGHT)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT * len(plots)}" font-family="sans-serif">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>", ""])
