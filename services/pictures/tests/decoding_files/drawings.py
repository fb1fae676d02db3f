"""Pictures that are drawn by the tests, and what becomes of pictures on their way through the web."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image, ImageDraw

Random = np.random.Generator


def texture(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw clouds of several sizes, as a photograph has them."""
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
    """Draw a few colours that run into each other."""
    corners = random.integers(0, 256, (int(random.integers(2, 5)), int(random.integers(2, 5)), 3)).astype(np.uint8)
    return Image.fromarray(corners).resize((width, height), Image.Resampling.BICUBIC)


def shapes(random: Random, width: int = 480, height: int = 360) -> Image.Image:
    """Draw boxes and ellipses, as furniture in a room."""
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


KINDS: tuple[Callable[..., Image.Image], ...] = (texture, gradient, shapes, text)


def _colour(random: Random, low: int = 0, high: int = 256) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in random.integers(low, high, 3))
    return red, green, blue


def saved(image: Image.Image, format_name: str, **options: object) -> bytes:
    """Return the picture as a file."""
    buffer = io.BytesIO()
    # With threads, libaom hangs or crashes now and then when it encodes animations.
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
    """Yield what a partner's shop makes of a picture, by name."""
    scale = float(random.uniform(0.25, 0.8))
    yield "resized", image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    yield "enlarged", image.resize((image.width * 2, image.height * 2), Image.Resampling.BILINEAR)
    yield "jpeg 30", recompressed(image, 30)
    yield "webp 40", recompressed(image, 40, "WEBP")
    yield "small and jpeg 50", recompressed(image.resize((200, 150)), 50)
    cuts = [float(cut) for cut in random.uniform(0, 0.02, 4)]
    yield "cropped by up to 2 % a side", cropped(image, *cuts)
