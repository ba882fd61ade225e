"""Values of all parameters, the diagonal prior precision, and the information of the cells about them."""

from __future__ import annotations

from dataclasses import dataclass

from irt_engine.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A value of all parameters: z (S,), phi (J, W), its log gaps as deviations from the common ones."""

    z: FloatArray
    phi: FloatArray

    def moved(self, step: Point, length: float) -> Point:
        return Point(self.z + length * step.z, self.phi + length * step.phi)


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Prior precisions, diagonal: of z (S,) and of phi (J, W). Prior means are 0."""

    z: FloatArray
    phi: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """What the cells say: i_theta (n,), cross (n, P) = theta x phi, i_phi (J, P, P) summed by slot.

    P are the prompts' own parameters: what is said about replies follows from i_theta and cross.
    """

    i_theta: FloatArray
    cross: FloatArray
    i_phi: FloatArray

    def plus(self, other: Information) -> Information:
        return Information(self.i_theta + other.i_theta, self.cross + other.cross, self.i_phi + other.i_phi)

    def minus(self, other: Information) -> Information:
        return Information(self.i_theta - other.i_theta, self.cross - other.cross, self.i_phi - other.i_phi)
