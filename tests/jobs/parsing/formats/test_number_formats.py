from __future__ import annotations

import pytest

from jobs.parsing.formats.number_formats import number_text, plain_number


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.255, "0%", "25.5%"),
        (1234.5, '"$"#,##0.00', "$1234.5"),
        (-1234.5, '"$"#,##0.00_);[Red]\\("$"#,##0.00\\)', "-$1234.5"),
        (1234.5, "#,##0.00 [$€-407]", "1234.5 €"),
        (1234, "00000", "01234"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234567, "[<=9999999]###\\-####;\\(###\\)\\ ###\\-####", "555 123-4567"),
        (5, '0 "kg"', "5 kg"),
        (7, 'General" days"', "7 days"),
        (1500000, '0.0,,"M"', "1.5M"),
        (1, '"Yes";;"No"', "Yes"),
        (0, '"Yes";;"No"', "No"),
        (0, '_(* #,##0_);_(* (#,##0);_(* "-"??_);_(@_)', "0"),
        (0.1 + 0.2, "General", "0.3"),
        (1234.5678, "0.00E+00", "1234.5678"),
        (0.5, "# ?/?", "0.5"),
        (45352, "dd/mm/yyyy", "2024-03-01"),
        (45352, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "2024-03-01"),
        (45352, "mmm yyyy", "2024-03-01"),
        (45352.545138888889, "yyyy-mm-dd hh:mm", "2024-03-01 13:05:00"),
        (0.545138888889, "h:mm AM/PM", "13:05:00"),
        (1.25, "[h]:mm", "30:00:00"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),
        (1e300, "yyyy", "1e+300"),
        (-1, "d.m.yy", "-1"),
        (3.0, "@", "3"),
    ],
)
def test_formats_add_their_meaning(value: float, code: str, text: str) -> None:
    """Dates, shares, currencies, units, zeros and scales are shown; no digit is lost."""
    assert number_text(value, code) == text


def test_days_count_from_1904_where_the_workbook_says_so() -> None:
    """The other epoch of spreadsheets."""
    assert number_text(0, "yyyy-mm-dd", mac_epoch=True) == "1904-01-01"


@pytest.mark.parametrize(
    ("value", "text"), [(3.0, "3"), (0.1 + 0.2, "0.3"), (1e15, "1e+15"), (-2.5, "-2.5")]
)
def test_plain_numbers_have_15_digits(value: float, text: str) -> None:
    """Noise beyond the digits that spreadsheets compute with is dropped."""
    assert plain_number(value) == text
