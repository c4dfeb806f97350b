"""Where Maple's data lies: `/etc/maple` first, then the installed share folder, then the checkout."""

from __future__ import annotations

import os
import sys
from typing import Mapping, Optional, Tuple

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package


def etc(environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder of the site's own files: `/etc/maple`, or what MAPLE_ETC names."""
    return environ.get("MAPLE_ETC") or "/etc/maple"


def folders(name: str, environ: Mapping[str, str] = os.environ) -> Tuple[str, ...]:
    """Return every folder that holds data called *name* ("templates", "site_configs"), the strongest first.

    A file of a stronger folder stands in place of the file of the same name in a weaker one.
    """
    above = [os.path.normpath(os.path.join(_HERE, *[os.pardir] * steps)) for steps in range(1, 6)]
    shares = [os.path.join(top, "share", "maple") for top in above]
    # above[1]: a checkout. An editable install of it copies the data to the prefix once, and that copy grows old.
    tops = (etc(environ), *shares, above[1], os.path.join(sys.prefix, "share", "maple"))
    places = [os.path.join(top, name) for top in tops]
    return tuple(place for place in dict.fromkeys(places) if os.path.isdir(place))


def find(name: str, filename: str, environ: Mapping[str, str] = os.environ) -> Optional[str]:
    """Return the path of *filename* in the strongest folder of *name* that has it, None when none has."""
    paths = (os.path.join(folder, filename) for folder in folders(name, environ))
    return next((path for path in paths if os.path.isfile(path)), None)
