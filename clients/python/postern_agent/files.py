"""Files of a message: their bytes, checked."""

import hashlib
from base64 import b64decode
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from .types import ArtifactPart, FilePart

#: Bytes of one file that are read at most, unless the caller says so.
MAX_FILE = 25 * 1024 * 1024


class FileError(Exception):
    """A file cannot be read, or its bytes differ from the digest in the message."""


def read_file(
    part: FilePart | ArtifactPart, *, timeout: float = 30, max_bytes: int = MAX_FILE, allow_foreign: bool = False
) -> bytes:
    """Reads the bytes of a file. Raises FileError.

    It checks the digest that the message names (SHA-256, FIPS 180-4). An address that a peer chose may lead into
    your own network, so `read_file` refuses it without `allow_foreign`. In a coroutine, call it as
    `await asyncio.to_thread(read_file, part)`.
    """
    reference = part["bytes_ref"]
    if reference["kind"] == "inline":
        return b64decode(reference["data_base64"])
    url = reference.get("url")
    if not url:
        raise FileError("The message names no address for the file")
    if reference["kind"] == "url" and reference.get("foreign") and not allow_foreign:
        raise FileError(f"A peer chose the address {url}; read it with allow_foreign=True behind a guard only")
    data = fetch(url, timeout, max_bytes)
    if reference["kind"] == "content_addressed" and hashlib.sha256(data).hexdigest() != reference["digest"]:
        raise FileError(f"The bytes at {url} are not those that the message names")
    return data


def fetch(url: str, timeout: float, max_bytes: int) -> bytes:
    """Fetches an address by http or https, within bounds. Raises FileError."""
    if not url.startswith(("https://", "http://")):
        raise FileError(f"The address {url} is neither https nor http")
    try:
        with urlopen(Request(url, headers={"accept": "*/*"}), timeout=timeout) as answer:
            data = bytes(answer.read(max_bytes + 1))
    except HTTPError as error:
        raise FileError(f"The address {url} answered {error.code}") from error
    except (OSError, HTTPException) as error:
        raise FileError(f"The address {url} cannot be reached: {getattr(error, 'reason', None) or error}") from error
    if len(data) > max_bytes:
        raise FileError(f"The file at {url} has more than {max_bytes} bytes")
    return data
