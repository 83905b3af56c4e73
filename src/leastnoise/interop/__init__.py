"""Export to and import from dp-accounting and OpenDP, which the extra `interop` installs.

| API | other side | content |
|---|---|---|
| `to_pld` | `PrivacyLossDistribution` | masses that bound the privacy loss from above, proved |
| `to_dp_event` | `DpEvent` | the mechanism itself, if an event describes it exactly |
| `from_pld`, `from_plds` | `PrivacyLossDistribution` | its masses, which are not proved |
| `to_opendp` | `Measurement` | the release, and its privacy map |

The libraries are imported when one of these functions is called. `MissingExtra` tells what to
install.
"""

from leastnoise.interop.extra import MissingExtra, NotABound
from leastnoise.interop.measurement import to_opendp
from leastnoise.interop.plds import ImportedLosses, from_pld, from_plds, to_dp_event, to_pld

__all__ = [
    "ImportedLosses",
    "MissingExtra",
    "NotABound",
    "from_pld",
    "from_plds",
    "to_dp_event",
    "to_opendp",
    "to_pld",
]
