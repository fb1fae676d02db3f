"""A real headless browser, used with the keyboard only: chromedriver's W3C protocol over plain HTTP."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from classifeed_devkit.embedded.ports import pick_free_port
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until

ENTER: Final = "\ue007"
ESCAPE: Final = "\ue00c"
SHIFT: Final = "\ue008"
TAB: Final = "\ue004"
SPACE: Final = " "
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,800",
)


class Browser:
    """A browser with its own profile. It has no method for a mouse."""

    def __init__(self, driver: httpx.AsyncClient, session_id: str, process_id: int) -> None:
        self._driver = driver
        self._path = f"/session/{session_id}"
        self._process_id = process_id

    async def open(self, url: str) -> None:
        """Open an address."""
        await self._post("url", {"url": url})

    async def press(self, *keys: str) -> None:
        """Press and release keys one after another."""
        await self._act([{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")])

    async def press_with_shift(self, key: str) -> None:
        """Press a key while Shift is down."""
        steps = (("keyDown", SHIFT), ("keyDown", key), ("keyUp", key), ("keyUp", SHIFT))
        await self._act([{"type": kind, "value": value} for kind, value in steps])

    async def read(self, script: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        return await self._post("execute/sync", {"script": f"return {script}", "args": []})

    async def shows(self, words: str) -> bool:
        """Return whether the page shows these words now; False while it loads."""
        try:
            return words in str(await self.read("document.body ? document.body.innerText : ''"))
        except httpx.HTTPStatusError:
            return False

    async def wait_for(self, words: str) -> None:
        """Return once the page shows these words.

        Raises:
            TimeoutError: the page does not show them in time.
        """
        await until(lambda: self.shows(words), within_s=60)

    async def complaints(self) -> list[str]:
        """Return the browser's log of failed scripts and blocked content."""
        entries = await self._post("se/log", {"type": "browser"})
        lines = [entry["message"] for entry in entries]
        return [line for line in lines if "Security Policy" in line or "Uncaught" in line]

    async def resize(self, width: int, height: int) -> None:
        """Set the size of the window in pixels."""
        await self._post("window/rect", {"width": width, "height": height})

    async def screenshot(self) -> bytes:
        """Return a picture of the page as PNG."""
        response = await self._driver.get(f"{self._path}/screenshot")
        return base64.b64decode(response.raise_for_status().json()["value"])

    def kill(self) -> None:
        """Kill the browser, which gets no chance to sign out."""
        os.kill(self._process_id, signal.SIGKILL)

    async def close(self) -> None:
        """Close the browser, even after a kill."""
        await self._driver.delete(self._path)

    async def _act(self, actions: list[dict[str, str]]) -> None:
        await self._post("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    async def _post(self, command: str, content: dict[str, Any]) -> Any:
        response = await self._driver.post(f"{self._path}/{command}", json=content)
        return response.raise_for_status().json()["value"]


class Browsers:
    """Opens browsers with a running chromedriver."""

    def __init__(self, driver: httpx.AsyncClient, binary: str, folder: Path) -> None:
        self._driver = driver
        self._binary = binary
        self._folder = folder
        self._opened: list[Browser] = []

    async def open(self) -> Browser:
        """Return a new browser with an empty profile."""
        profile = self._folder / f"profile-{len(self._opened)}"
        options = {"binary": self._binary, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        response = await self._driver.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
        value = response.raise_for_status().json()["value"]
        browser = Browser(self._driver, value["sessionId"], value["capabilities"]["goog:processID"])
        self._opened.append(browser)
        return browser

    async def close(self) -> None:
        """Close all browsers."""
        await asyncio.gather(*(browser.close() for browser in self._opened), return_exceptions=True)


@asynccontextmanager
async def run_browsers(chromedriver: str, binary: str, folder: Path) -> AsyncIterator[Browsers]:
    """Yield a factory of browsers, and close them afterwards.

    Args:
        chromedriver: path of chromedriver.
        binary: path of the browser.
        folder: the folder for profiles.
    """
    port = pick_free_port()
    command = [chromedriver, f"--port={port}", "--log-level=SEVERE", "--allowed-ips=127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        async with loopback_client(f"http://127.0.0.1:{port}", timeout_s=120) as driver:

            async def is_up() -> bool:
                try:
                    return bool((await driver.get("/status")).json()["value"]["ready"])
                except httpx.TransportError:
                    return False

            browsers = Browsers(driver, binary, folder)
            try:
                await until(is_up, within_s=60)
                yield browsers
            finally:
                await browsers.close()
                process.terminate()
                process.wait()
