"""What a release's directory held when it was published: SHA-256 of each file, and its charge.

Whoever can write to the directory can write new sums, too: what shows that is a signature, by a key
that others know.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from leastnoise import _files
from leastnoise.certificate.records import exact_fields, parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    SigningKey = Ed25519PrivateKey

RECORD, SIGNATURE = "release.json", "release.sig"
_KIND, _VERSION = "release-record", 1
_FIELDS, _PLACE = ("kind", "version", "files", "entry"), "release"  # the last of a series alone
_MAKE_ONE = "Make one: openssl genpkey -algorithm ed25519 -out key.pem"


@final
@dataclass(frozen=True, kw_only=True)
class Seal:
    """The SHA-256 of each file by name, and the entry of the ledger that was charged, if any.

    Of a series `place` says which of its releases it is, from 1 on.
    """

    files: dict[str, str]
    entry: int | None
    place: int | None = None

    @classmethod
    def of(cls, folder: Path, *, entry: int | None, place: int | None = None) -> Seal:
        """Return the seal of what is in `folder`."""
        names = sorted(file.name for file in folder.iterdir())
        return cls(files={name: sum_of(folder / name) for name in names}, entry=entry, place=place)

    def write(self, folder: Path, key: Ed25519PrivateKey | None) -> None:
        """Write it into `folder`, signed if there is a `key`."""
        record = {"kind": _KIND, "version": _VERSION, "files": self.files, "entry": self.entry}
        record |= {} if self.place is None else {_PLACE: self.place}
        text = json.dumps(record, indent=2)
        (folder / RECORD).write_text(text, encoding="utf-8", newline="\n")
        if key is not None:
            signature = key.sign(text.encode()).hex()
            (folder / SIGNATURE).write_text(signature + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Seal:
        """Return the seal of a release; raises CertificateRejected if there is none."""
        try:
            text = _files.read_text(folder / RECORD, most=_files.LARGEST_CERTIFICATE, links=False)
            found = parse_object(text)
            known = (*_FIELDS, _PLACE) if found.get(_PLACE) is not None else _FIELDS
            fields = exact_fields(found, known, where=RECORD)
        except InvalidInput as error:
            raise CertificateRejected(f"{RECORD} is missing or unreadable. {error}") from None
        files, entry, place = fields["files"], fields["entry"], fields.get(_PLACE)
        known = fields["kind"] == _KIND and type(fields["version"]) is int
        known = known and fields["version"] == _VERSION
        if not (known and isinstance(files, dict) and _is_entry(entry) and _is_entry(place)):
            raise CertificateRejected(f"{RECORD} is not the record of a release.")
        return cls(files=files, entry=entry, place=place)

    def check(self, folder: Path, *, names: list[str]) -> None:
        """Raise CertificateRejected unless it is about the files `names`, and they are the same."""
        if sorted(self.files) != sorted(names):
            raise CertificateRejected(f"{RECORD} is about other files than the release has.")
        for name in names:
            if sum_of(folder / name) != self.files[name]:
                raise CertificateRejected(
                    f"{name} isn't what it was when it was released: its SHA-256 is another."
                )


def _is_entry(value: object) -> bool:
    return value is None or (type(value) is int and value > 0)


def private_key(path: Path) -> Ed25519PrivateKey:
    """Return the Ed25519 key in a PEM file; raises InvalidInput for anything else."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    text = _key_text(path)
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except TypeError:
        raise InvalidInput(f"{path} asks for a password: give a key without one.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{path} holds no private key as PEM. {_MAKE_ONE}") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InvalidInput(f"{path} holds a key of another kind than Ed25519. {_MAKE_ONE}")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Return the public Ed25519 key in a PEM file; raises InvalidInput for anything else."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    how = "Make it of the private one: openssl pkey -in key.pem -pubout -out key.pub"
    try:
        key = serialization.load_pem_public_key(_key_text(path))
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{path} holds no public key as PEM. {how}") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InvalidInput(f"{path} holds a key of another kind than Ed25519. {_MAKE_ONE}")
    return key


def check_signature(folder: Path, key: Ed25519PublicKey) -> None:
    """Raise CertificateRejected unless the seal in `folder` was signed by that `key`."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    if not is_signed(folder):
        raise CertificateRejected(f"The release isn't signed: it has no {SIGNATURE}.")
    try:
        text = _files.read_bytes(folder / RECORD, most=_files.LARGEST_CERTIFICATE, links=False)
        signature = _files.read_text(folder / SIGNATURE, most=200, links=False)
        key.verify(bytes.fromhex(signature.strip()), text)
    except SourceError as error:
        raise CertificateRejected(str(error)) from None
    except (InvalidSignature, ValueError):
        raise CertificateRejected(f"{SIGNATURE} is not the signature of this key.") from None


def others(folder: Path, sealed: Seal) -> tuple[str, ...]:
    """Return the names of files in `folder` that aren't of the release, in order."""
    known = {*sealed.files, RECORD, SIGNATURE}
    return tuple(sorted(file.name for file in folder.iterdir() if file.name not in known))


def is_signed(folder: Path) -> bool:
    """Say whether there is a signature, whosever it is."""
    return (folder / SIGNATURE).exists()


def _key_text(path: Path) -> bytes:
    return _files.read_bytes(path, most=10_000)


def sum_of(path: Path) -> str:
    """Return the SHA-256 of a file; raises CertificateRejected if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CertificateRejected(f"{path.name} can't be read: {error.strerror}.") from None
