"""What a release asks of the ledger that its spec names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, final

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.tables.spec.values import LEAST, MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.series import Standing
    from leastnoise.tables.spec.model import LedgerAccount, Spec


@final
class _Statement(TypedDict):
    unit: str
    neighbours: str
    dataset: str | None


def check_account(spec: Spec, folder: Path, standing: Standing | None) -> None:
    """Raise what the ledger would say, as far as that is known before the noise is found."""
    account = spec.privacy.ledger
    if account is not None and not (standing and standing.begun):
        known = None if spec.privacy.epsilon == LEAST else spec.budget
        _ledger(account, folder).check_account(
            plan=account.plan, budget=known, **_statement(spec, account)
        )


def afford(spec: Spec, folder: Path, plan: Plan, standing: Standing | None) -> str | None:
    """Return the filter by which the ledger would admit a charge; None if none is due."""
    from leastnoise.tables.plan.plan import Plan  # noqa: PLC0415 (half a second)

    certificate = _validate.instance(
        plan, Plan, name="plan", like="what plan() returns"
    ).certificate
    account = spec.privacy.ledger
    if account is None or account.plan is not None or (standing and standing.begun):
        return None
    return _ledger(account, folder).afford(certificate, **_statement(spec, account))


def charge(
    spec: Spec,
    folder: Path,
    certificate: PlanCertificate,
    *,
    standing: Standing | None,
    tell: Callable[[str], object],
    label: str,
) -> int | None:
    """Charge the ledger, if there is one; return the number of its entry."""
    account = spec.privacy.ledger
    if account is None:
        return None
    tell("Charging the ledger")
    if standing is not None:
        return standing.publish(certificate, label=label)
    ledger, statement = _ledger(account, folder), _statement(spec, account)
    if account.plan is None:
        return ledger.charge(certificate, label=label, **statement).number
    return ledger.use(certificate, plan=account.plan, label=label, **statement)


def label_of(spec: Spec, given: str | None) -> str:
    """Return what the ledger's entry says of a release; raises InvalidArgument."""
    if given is None:
        return (spec.report and spec.report.title) or ", ".join(one.name for one in spec.query)
    if spec.privacy.ledger is None:
        raise InvalidArgument(name="label", value=given, expected="a spec with a ledger")
    return _validate.text(given, name="label", longest=MAX_TEXT)


def _ledger(account: LedgerAccount, folder: Path) -> Ledger:
    from leastnoise.ledger.ledger import Ledger  # noqa: PLC0415 (half a second)

    return Ledger(folder / account.path)


def _statement(spec: Spec, account: LedgerAccount) -> _Statement:
    privacy = spec.privacy
    return {
        "unit": privacy.unit_label,
        "neighbours": privacy.neighbours,
        "dataset": account.dataset,
    }
