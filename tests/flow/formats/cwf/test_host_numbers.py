"""Numbers as mainframes write them."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.formats.cwf.host_numbers import read_hexfloat, write_hexfloat


@given(st.floats(min_value=1e-60, max_value=1e60))
def test_floats_of_s390_keep_their_53_bits_but_for_three(value: float) -> None:
    found = read_hexfloat(write_hexfloat(value, 8))
    assert abs(found - value) <= abs(value) * 2**-52
    assert write_hexfloat(found, 8) == write_hexfloat(value, 8)
