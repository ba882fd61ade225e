"""Published results of a study of selections turn by turn, and joint tables that have them.

The joint tables were solved for: whole numbers of turns by pattern with the published shares, Q and McNemar statistics.
The study's own turns are not public; other tables have the same results.
"""

CHATBOTS = ("BST", "TCS", "WoW", "M")
TABLES = {
    "SATA-Random": {
        "0000": 136, "0001": 119, "0010": 122, "0100": 25, "0101": 72, "0110": 83,
        "1000": 142, "1001": 12, "1010": 26, "1011": 71, "1100": 88,
    },
    "SATA-User": {
        "0000": 49, "0001": 174, "0010": 185, "0100": 122, "0101": 35, "0110": 40,
        "1000": 212, "1001": 3, "1010": 6, "1011": 38, "1100": 36,
    },
}  # fmt: skip
# Table 5: statistic and p, cut (not rounded) after the printed digits; all four first, then pairs.
OMNIBUS = {"SATA-Random": (14.77, 0.002), "SATA-User": (9.52, 0.023)}
PAIRS = {
    "SATA-Random": {
        ("BST", "TCS"): (11.69, 0.000), ("BST", "WoW"): (3.06, 0.080), ("BST", "M"): (9.45, 0.002),
        ("TCS", "WoW"): (2.86, 0.090), ("TCS", "M"): (0.09, 0.763), ("WoW", "M"): (1.80, 0.178),
    },
    "SATA-User": {
        ("BST", "TCS"): (8.42, 0.003), ("BST", "WoW"): (1.42, 0.233), ("BST", "M"): (4.37, 0.036),
        ("TCS", "WoW"): (3.07, 0.079), ("TCS", "M"): (0.69, 0.402), ("WoW", "M"): (0.81, 0.366),
    },
}  # fmt: skip
# Table 6: selected, turns, share in percent, and the bounds of the 95 % interval.
SINGLE = {
    "BST": (111, 128, 87, 0.81, 0.93),
    "TCS": (106, 126, 84, 0.78, 0.91),
    "WoW": (104, 126, 83, 0.76, 0.89),
    "M": (120, 127, 94, 0.91, 0.98),
}
# Table 1: turns that find a difference of 0.1 at level 0.05 with power 0.8.
SIZES = {"pm-soba": 196, "pm-sata": 667, "sm": 126}
# Table 4: whole numbers of turns with the published shares 28, 19, 27 and 25 % of 436.
ONE_BEST = {"1000": 122, "0100": 83, "0010": 118, "0001": 113}


def cut(value: float, digits: int) -> float:
    """Return the value cut after so many digits, as Table 5 prints it."""
    return int(value * 10.0**digits + 1e-9) / 10.0**digits
