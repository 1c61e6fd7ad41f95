"""What a kernel call costs on a machine: its work and its traffic -> seconds, joules, bytes.

The only place with these formulas.  `choose` compares candidates, layouts and conversions by this
price before tensors have places; `edgeconv.search.predict` applies it to what was chosen, with the
memory that everything lies in.
"""

from edgeconv.target.price.machine import Machine, machine_of
from edgeconv.target.price.price import Price, price, streaming

__all__ = ["Machine", "Price", "machine_of", "price", "streaming"]
