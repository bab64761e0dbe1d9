"""Fixtures of pytest: `pytest_plugins = ["postern_agent.testing.fixtures"]` in your `conftest.py` brings them.

Override `gateway_settings` or `gateway_folder` there.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from .gateway import SentReply, StartedGateway, start_gateway


@pytest.fixture(scope="session")
def gateway_settings() -> Mapping[str, Any] | None:
    """The configuration of the gateway; None: that of the file in `gateway_folder`."""
    return None


@pytest.fixture(scope="session")
def gateway_folder(pytestconfig: pytest.Config) -> Path:
    """The folder of the configuration, and of the paths in it; default: that of pytest's own configuration."""
    return pytestconfig.rootpath


@pytest.fixture(scope="session")
def gateway(gateway_settings: Mapping[str, Any] | None, gateway_folder: Path) -> Iterator[StartedGateway]:
    """A real gateway in dev mode, for all tests of a run."""
    with start_gateway(gateway_settings, folder=gateway_folder) as started:
        yield started


@pytest.fixture
def send(gateway: StartedGateway) -> Callable[..., SentReply]:
    """`gateway.send`: sends a signed message, and waits for the answer."""
    return gateway.send
