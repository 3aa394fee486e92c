from __future__ import annotations

import pytest

from chunking.splitting import joins


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "क्ष",
        "कि",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\u2764\ufe0f",
        "\U0001f1e9\U0001f1f0",
        "\u1112\u1161\u11ab",
        "\r\n",
        "กำ",
        "เก",
        "น้ำ",
        "ទ្រ",
        "က္က",
        "שָׁ",
        "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    ],
)
def test_a_cluster_is_never_parted(cluster: str) -> None:
    """Marks, conjuncts, joined emoji, flags, vowels and jamo stay with their base."""
    assert all(joins(cluster, at) for at in range(1, len(cluster)))


@pytest.mark.parametrize("pair", ["ab", "漢字", "กข", "कख", "각나", "क ख", "ကက", "😀😀", "é!"])
def test_two_characters_may_be_parted(pair: str) -> None:
    """Letters, syllables, ideographs and emoji of their own are no cluster."""
    assert not any(joins(pair, at) for at in range(1, len(pair)))
