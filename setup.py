"""The packages of the wheel. Templates, styles and translations become a folder of the package `evalsite`."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["evalsite*", "irt_engine*", "scheduler*"]), "evalsite.frontend"],
    package_dir={"evalsite.frontend": "frontend"},
    package_data={
        "": ["py.typed"],
        "evalsite.core": ["*.txt"],
        "evalsite.demo": ["*.jsonl", "bots/*"],
        "evalsite.scorecards": ["data/*"],
        "evalsite.frontend": ["**/*"],
    },
)
