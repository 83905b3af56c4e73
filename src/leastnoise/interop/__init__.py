"""To and from other libraries: dp-accounting and OpenDP. Both come with the extra `interop`.

| API | other side | what crosses |
|---|---|---|
| `to_pld` | `PrivacyLossDistribution` | masses that bound the privacy loss from above, proved |
| `to_dp_event` | `DpEvent` | the mechanism itself, where an event says exactly the same |
| `from_pld`, `from_plds` | `PrivacyLossDistribution` | its masses, taken at their word |
| `to_opendp` | `Measurement` | the release, and its privacy map |

The libraries are imported when one of these is called; `MissingExtra` says what to install.
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
