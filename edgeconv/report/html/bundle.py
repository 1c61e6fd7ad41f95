"""What a page carries compressed, and what unpacks it.

plotly.js: PyPI's plotly ships one bundle of all charts, 4.8 MB.  npm's ``plotly.js-basic-dist-min``
has the two kinds that are drawn here, and deflated it is a twelfth.  Charts, drawings and
report.json repeat themselves layer by layer, and deflated they are a tenth.  What browsers have to
inflate ends after the page is shown, so tiny-inflate does, before.
"""

from __future__ import annotations

import base64
import functools
import zlib
from importlib import resources

from markupsafe import Markup

_SCRIPT = """const unpacked = (() => {{
const module = {{}};
{inflate}
return (packed, size) => {{
  const text = new Uint8Array(size);
  module.exports(Uint8Array.from(atob(packed), (char) => char.charCodeAt(0)), text);
  return new TextDecoder().decode(text);
}};
}})();
{{
  const script = document.createElement("script");
  script.textContent = unpacked("{packed}", {size});
  document.head.append(script);
}}"""
# As little as zlib makes of it: no header, the largest window, the most memory.
_LEVEL, _MEMORY = 9, 9
PACKED = "text/x-packed"  # the type of a script element whose text is packed


@functools.cache
def script() -> Markup:
    """What defines ``Plotly`` and ``unpacked(text, size)`` in a page, to be put into a script
    element."""
    folder = resources.files("edgeconv.report.html").joinpath("vendor")
    packed = folder.joinpath("plotly-basic.min.js.deflate").read_bytes()
    text = _SCRIPT.format(
        inflate=folder.joinpath("tiny-inflate.js").read_text(encoding="utf-8"),
        packed=base64.b64encode(packed).decode("ascii"),
        size=len(zlib.decompress(packed, -zlib.MAX_WBITS)),
    )
    return Markup(text)


def packed(text: str, name: str = "") -> Markup:
    """A script element that holds ``text`` packed.

    ``name``: its id, by which page.js asks for the text; without one the text is markup, which
    page.js puts in the element's place.
    """
    data = text.encode("utf-8")
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, _MEMORY)
    small = base64.b64encode(deflate.compress(data) + deflate.flush()).decode("ascii")
    identity = f' id="{name}"' if name else ""
    return Markup(f'<script type="{PACKED}"{identity} data-bytes="{len(data)}">{small}</script>')
