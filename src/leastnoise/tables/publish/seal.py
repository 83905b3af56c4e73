"""The seal of a release: the SHA-256 of each file when it was published, and its ledger entry.

Anyone who can write to the directory can replace the seal. Only a signature, by a key that others
know, reveals a replaced seal.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _files
from leastnoise.certificate.records import exact_fields, parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError
from leastnoise.ledger.state import chained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    SigningKey = Ed25519PrivateKey

RECORD, SIGNATURE = "release.json", "release.sig"
_KIND, _VERSION = "release-record", 1
_FIELDS = ("kind", "version", "files", "entry")
_NUMBER = "release"  # the field of the release number; only in a series
_LINK = "chain"  # the field of the chain; only in a series with running totals
_MAKE_ONE = "Make one: openssl genpkey -algorithm ed25519 -out key.pem"


@final
@dataclass(frozen=True, kw_only=True)
class Link:
    """The place of a release in the chain of a series with running totals.

    `first` is the number of the first release of its tree. `digest` is the digest of the release,
    and `before` the digest of the previous release; "" for the first release of the series.
    """

    first: int
    before: str
    digest: str

    def follows(self, *, plan: str, release: int, counts: Mapping[str, Sequence[int]]) -> str:
        """The digest of a release with these counts, chained to the digest `before`.

        `plan` is the release's `plan_digest`.
        """
        return chained(self.before, plan=plan, release=release, counts=counts)

    def to_record(self) -> dict[str, Any]:
        """The link as JSON values."""
        return {"first": self.first, "before": self.before, "digest": self.digest}

    @classmethod
    def from_record(cls, record: object) -> Link:
        """Read what `to_record` wrote. Raises CertificateRejected for anything else."""
        fields = exact_fields(record, ("first", "before", "digest"), where=_LINK)
        texts = isinstance(fields["before"], str) and isinstance(fields["digest"], str)
        if not texts or type(fields["first"]) is not int or fields["first"] < 1:
            raise CertificateRejected(f"{RECORD} is not the record of a release.")
        return cls(**fields)


@final
@dataclass(frozen=True, kw_only=True)
class Seal:
    """The SHA-256 of each file of a release, and the release's place in ledger and series.

    `files` has the SHA-256 by file name. `entry` is the number of the ledger's entry for the
    release, if there is a ledger. `release_number` is the position in a series, from 1 on. `link`
    is for series with running totals.
    """

    files: dict[str, str]
    entry: int | None
    release_number: int | None = None
    link: Link | None = None

    @classmethod
    def of(
        cls,
        folder: Path,
        *,
        entry: int | None,
        release_number: int | None = None,
        link: Link | None = None,
    ) -> Seal:
        """The seal of the files in `folder`."""
        names = sorted(file.name for file in folder.iterdir())
        files = {name: sha256_of(folder / name) for name in names}
        return cls(files=files, entry=entry, release_number=release_number, link=link)

    def write(self, folder: Path, key: Ed25519PrivateKey | None) -> None:
        """Write the seal into `folder`, signed if there is a `key`."""
        record = {"kind": _KIND, "version": _VERSION, "files": self.files, "entry": self.entry}
        record |= {} if self.release_number is None else {_NUMBER: self.release_number}
        record |= {} if self.link is None else {_LINK: self.link.to_record()}
        text = json.dumps(record, indent=2)
        (folder / RECORD).write_text(text, encoding="utf-8", newline="\n")
        if key is not None:
            signature = key.sign(text.encode()).hex()
            (folder / SIGNATURE).write_text(signature + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Seal:
        """The seal of a release; raises CertificateRejected if it is missing or malformed."""
        try:
            text = _files.read_text(folder / RECORD, most=_files.LARGEST_CERTIFICATE, links=False)
            record = parse_object(text)
            extra = (name for name in (_NUMBER, _LINK) if record.get(name) is not None)
            fields = exact_fields(record, (*_FIELDS, *extra), where=RECORD)
            link = Link.from_record(fields[_LINK]) if _LINK in fields else None
        except InvalidInput as error:
            raise CertificateRejected(f"{RECORD} is missing or unreadable. {error}") from None
        files, entry, release_number = fields["files"], fields["entry"], fields.get(_NUMBER)
        known = fields["kind"] == _KIND and type(fields["version"]) is int
        known = known and fields["version"] == _VERSION
        numbers = _is_count(entry) and _is_count(release_number)
        if not (known and numbers and isinstance(files, dict)):
            raise CertificateRejected(f"{RECORD} is not the record of a release.")
        return cls(files=files, entry=entry, release_number=release_number, link=link)

    def check(self, folder: Path, *, names: list[str]) -> None:
        """Raise CertificateRejected unless the sealed files are `names`, and none was changed."""
        if sorted(self.files) != sorted(names):
            raise CertificateRejected(f"{RECORD} lists other files than the release has.")
        for name in names:
            if sha256_of(folder / name) != self.files[name]:
                raise CertificateRejected(
                    f"{name} was changed after the release: its checksum (SHA-256) differs."
                )


def _is_count(value: object) -> bool:
    return value is None or (type(value) is int and value > 0)


def private_key(path: Path) -> Ed25519PrivateKey:
    """The Ed25519 private key in a PEM file; raises InvalidInput for anything else."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    text = _key_text(path)
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except TypeError:
        raise InvalidInput(
            f"The key in {path} needs a password. Give a key without a password."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{path} has no private key in PEM format. {_MAKE_ONE}") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InvalidInput(f"{path} has a key of another kind than Ed25519. {_MAKE_ONE}")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """The Ed25519 public key in a PEM file; raises InvalidInput for anything else."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    how = "Derive it from the private key: openssl pkey -in key.pem -pubout -out key.pub"
    try:
        key = serialization.load_pem_public_key(_key_text(path))
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"{path} has no public key in PEM format. {how}") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InvalidInput(f"{path} has a key of another kind than Ed25519. {_MAKE_ONE}")
    return key


def check_signature(folder: Path, key: Ed25519PublicKey) -> None:
    """Raise CertificateRejected unless the seal in `folder` was signed by this `key`."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    if not is_signed(folder):
        raise CertificateRejected(f"The release isn't signed: the file {SIGNATURE} is missing.")
    try:
        text = _files.read_bytes(folder / RECORD, most=_files.LARGEST_CERTIFICATE, links=False)
        signature = _files.read_text(folder / SIGNATURE, most=200, links=False)
        key.verify(bytes.fromhex(signature.strip()), text)
    except SourceError as error:
        raise CertificateRejected(str(error)) from None
    except (InvalidSignature, ValueError):
        raise CertificateRejected(
            f"The signature in {SIGNATURE} was made with another key, or {RECORD} was changed."
        ) from None


def find_other_files(folder: Path, sealed: Seal) -> tuple[str, ...]:
    """The names of files in `folder` that don't belong to the release, in order."""
    known = {*sealed.files, RECORD, SIGNATURE}
    return tuple(sorted(file.name for file in folder.iterdir() if file.name not in known))


def is_signed(folder: Path) -> bool:
    """True if the directory has a file with a signature; the signature isn't checked."""
    return (folder / SIGNATURE).exists()


def _key_text(path: Path) -> bytes:
    return _files.read_bytes(path, most=10_000)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file; raises CertificateRejected if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CertificateRejected(f"{path.name} can't be read: {error.strerror}.") from None
