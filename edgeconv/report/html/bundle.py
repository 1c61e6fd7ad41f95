"""plotly.js as a page carries it: the bundle of bars and lines, compressed.

PyPI's plotly ships one bundle of all charts, 4.8 MB.  npm's ``plotly.js-basic-dist-min`` has the
two kinds that are drawn here, and deflated it is a twelfth.  What browsers have to inflate it ends
after the page is shown, so tiny-inflate does, before.
"""

from __future__ import annotations

import base64
import functools
import zlib
from importlib import resources

from markupsafe import Markup

_SCRIPT = """(() => {{
const module = {{}};
{inflate}
const packed = Uint8Array.from(atob("{packed}"), (char) => char.charCodeAt(0));
const code = new Uint8Array({size});
module.exports(packed, code);
const script = document.createElement("script");
script.textContent = new TextDecoder().decode(code);
document.head.append(script);
}})();"""


@functools.cache
def script() -> Markup:
    """What defines ``Plotly`` in a page, to be put into a script element."""
    folder = resources.files("edgeconv.report.html").joinpath("vendor")
    packed = folder.joinpath("plotly-basic.min.js.deflate").read_bytes()
    text = _SCRIPT.format(
        inflate=folder.joinpath("tiny-inflate.js").read_text(encoding="utf-8"),
        packed=base64.b64encode(packed).decode("ascii"),
        size=len(zlib.decompress(packed, -zlib.MAX_WBITS)),
    )
    return Markup(text)
