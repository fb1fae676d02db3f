"""Pictures drawn by the tests, and the transformations that websites apply to them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from PIL import Image, ImageDraw

Random = np.random.Generator


def texture(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw clouds of several sizes, like the texture of a photograph."""
    layers = np.zeros((height, width, 3), np.float32)
    for side, weight in ((3, 60), (7, 40), (30, 20), (120, 8)):
        noise = (random.normal(128, 50, (side, side, 3))).clip(0, 255).astype(np.uint8)
        layers += (
            (np.asarray(Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC), np.float32) - 128)
            * weight
            / 50
        )
    return Image.fromarray((layers + 128).clip(0, 255).astype(np.uint8))


def gradient(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw a few colours that blend into each other."""
    corners = random.integers(0, 256, (int(random.integers(2, 5)), int(random.integers(2, 5)), 3)).astype(np.uint8)
    return Image.fromarray(corners).resize((width, height), Image.Resampling.BICUBIC)


def shapes(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw boxes and ellipses, like furniture in a room."""
    image = Image.new("RGB", (width, height), _colour(random))
    draw = ImageDraw.Draw(image)
    for _ in range(int(random.integers(4, 14))):
        left, top = int(random.integers(-60, width)), int(random.integers(-60, height))
        box = (left, top, left + int(random.integers(40, width)), top + int(random.integers(40, height)))
        (draw.rectangle if random.random() < 0.5 else draw.ellipse)(box, fill=_colour(random))
    return image


def text(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw a poster: lines of letters in blocks."""
    image = Image.new("RGB", (width, height), _colour(random, 180, 256))
    draw = ImageDraw.Draw(image)
    top = 10
    while top < height - 20:
        size = int(random.integers(12, 70))
        letters = "".join(chr(int(code)) for code in random.integers(65, 91, int(random.integers(3, 30))))
        draw.text((int(random.integers(0, width // 2)), top), letters, fill=_colour(random, 0, 120), font_size=size)
        top += size + int(random.integers(4, 40))
    return image


def furniture(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw a symmetrical piece of furniture in one of a few colours in front of a wall."""
    image = Image.new("RGB", (width, height), _one_of(random, _WALLS))
    draw = ImageDraw.Draw(image)
    middle, ground = width // 2, int(height * random.uniform(0.68, 0.85))
    draw.rectangle((0, ground, width, height), fill=_one_of(random, _GROUNDS))
    half, tall = int(width * random.uniform(0.1, 0.36)), int(height * random.uniform(0.25, 0.7))
    top, bottom, thick = ground + height // 20 - tall, ground + height // 20, int(random.integers(5, 18))
    first, second = _one_of(random, _FURNITURE), _one_of(random, _FURNITURE)
    match int(random.integers(4)):
        case 0:  # a table
            for left in (middle - half, middle + half - thick):
                draw.rectangle((left, top, left + thick, bottom), fill=second)
            draw.rounded_rectangle((middle - half - 4, top, middle + half + 4, top + thick * 2), 3, fill=first)
        case 1:  # a shelf
            draw.rectangle((middle - half, top, middle + half, bottom), fill=first)
            boards = int(random.integers(2, 7))
            for board in range(boards):
                above = top + thick // 2 + board * tall // boards
                box = (middle - half + thick, above, middle + half - thick, above + max(tall // boards - thick, 3))
                draw.rectangle(box, fill=_WALLS[0])
        case 2:  # a sofa
            draw.rounded_rectangle((middle - half, top, middle + half, bottom), thick, fill=first)
            for left in (middle - half - thick, middle + half - thick):
                draw.rounded_rectangle((left, top + tall // 3, left + 2 * thick, bottom), thick // 2, fill=second)
        case _:  # a lamp
            draw.rectangle((middle - 2, top, middle + 2, bottom), fill=second)
            draw.polygon(
                ((middle - half // 2, top + tall // 3), (middle, top), (middle + half // 2, top + tall // 3)), first
            )
    return image


def logo(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw a logo above a name, on white."""
    image = Image.new("RGB", (width, height), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    middle, centre, radius = width // 2, int(height * 0.4), int(height * random.uniform(0.15, 0.32))
    match int(random.integers(4)):
        case 0:
            for share in (1.0, float(random.uniform(0.3, 0.8))):
                size = int(radius * share)
                draw.ellipse((middle - size, centre - size, middle + size, centre + size), fill=_colour(random))
        case 1:
            draw.regular_polygon((middle, centre, radius), int(random.integers(3, 9)), 0, fill=_colour(random))
        case 2:
            for bar in range(int(random.integers(2, 5))):
                left = middle - radius + bar * radius // 2
                above = centre + radius - int(radius * random.uniform(0.4, 2))
                draw.rectangle((left, above, left + radius // 3, centre + radius), fill=_colour(random))
        case _:
            box = (middle - radius, centre - radius, middle + radius, centre + radius)
            draw.rounded_rectangle(box, radius // 3, fill=_colour(random))
    letters = "".join(chr(int(code)) for code in random.integers(65, 91, int(random.integers(3, 9))))
    draw.text((middle, int(height * 0.85)), letters, fill=_colour(random, 0, 160), font_size=height // 8, anchor="mm")
    return image


def room_plan(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw a plan: walls, openings and names, on white."""
    image = Image.new("RGB", (width, height), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    margins = [int(margin) for margin in random.integers(8, height // 6, 4)]
    rooms = [(margins[0], margins[1], width - margins[2], height - margins[3])]
    for _ in range(int(random.integers(3, 8))):
        rooms.sort(key=lambda room: (room[0] - room[2]) * (room[3] - room[1]))
        left, top, right, bottom = rooms.pop(0)
        share = float(random.uniform(0.3, 0.7))
        if right - left > bottom - top:
            wall = int(left + (right - left) * share)
            rooms += [(left, top, wall, bottom), (wall, top, right, bottom)]
        else:
            wall = int(top + (bottom - top) * share)
            rooms += [(left, top, right, wall), (left, wall, right, bottom)]
    for number, (left, top, right, bottom) in enumerate(rooms):
        draw.rectangle((left, top, right, bottom), outline=(30, 30, 30), width=4)
        door = (right - left) // 3
        draw.rectangle((left + door, bottom - 2, left + 2 * door, bottom + 2), fill=(255, 255, 255))
        draw.arc((left, bottom - door, left + 2 * door, bottom + door), 270, 360, fill=(30, 30, 30), width=2)
        draw.text((left + 8, top + 8), f"Room {number}", fill=(60, 60, 60), font_size=11)
    return image


_WALLS = ((232, 228, 217), (245, 245, 240), (255, 255, 255), (225, 235, 240))
_GROUNDS = ((168, 191, 134), (199, 188, 168), (180, 170, 160), (150, 180, 200))
_FURNITURE = ((92, 64, 40), (75, 78, 82), (72, 98, 122), (168, 112, 62), (140, 50, 40), (242, 192, 78))
KINDS: tuple[Callable[..., Image.Image], ...] = (texture, gradient, shapes, text)
FLAT_KINDS: tuple[Callable[..., Image.Image], ...] = (furniture, logo, room_plan)


def _one_of(random: Random, colours: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    return colours[int(random.integers(len(colours)))]


def _colour(random: Random, low: int = 0, high: int = 256) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in random.integers(low, high, 3))
    return red, green, blue


def saved(image: Image.Image, format_name: str, **options: object) -> bytes:
    """Return the picture as the bytes of a file."""
    buffer = io.BytesIO()
    # With threads, libaom sometimes hangs or crashes when it encodes animations.
    image.save(buffer, format_name, **({"max_threads": 1} if format_name == "AVIF" else {}), **options)
    return buffer.getvalue()


def recompressed(image: Image.Image, quality: int, format_name: str = "JPEG") -> Image.Image:
    return Image.open(io.BytesIO(saved(image, format_name, quality=quality))).convert("RGB")


def cropped(image: Image.Image, left: float, top: float, right: float, bottom: float) -> Image.Image:
    """Cut shares of the width and height off."""
    width, height = image.size
    return image.crop(
        (round(left * width), round(top * height), round(width - right * width), round(height - bottom * height))
    )


def transformed(image: Image.Image, random: Random) -> Iterator[tuple[str, Image.Image]]:
    """Yield the variants of a picture that partners' shops make, by name."""
    scale = float(random.uniform(0.25, 0.8))
    yield "resized", image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    yield "enlarged", image.resize((image.width * 2, image.height * 2), Image.Resampling.BILINEAR)
    yield "jpeg 30", recompressed(image, 30)
    yield "webp 40", recompressed(image, 40, "WEBP")
    yield "small and jpeg 50", recompressed(image.resize((200, 150)), 50)
    cuts = [float(cut) for cut in random.uniform(0, 0.02, 4)]
    yield "cropped by up to 2 % a side", cropped(image, *cuts)
