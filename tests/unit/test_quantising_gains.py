"""What each part of post-training quantisation gained, in words."""

from __future__ import annotations

from edgeconv.search.quantising.gains import Gain, gains_note, of_way


def test_what_is_measured_is_said() -> None:
    gains = [
        Gain("channels equalised", 1e-4, 10**-4.2, taken=True),
        of_way("+ bias correction", 1e-4, 1e-4, taken=False),
    ]
    (note,) = gains_note(gains)
    assert "channels equalised 40.0 to 42.0 dB; " in note
    assert note.endswith("biases corrected 40.0 to 40.0 dB, left out")
    assert gains_note([]) == ()
