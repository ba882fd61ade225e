"""Values of all parameters, the diagonal prior precision, and the information of the cells about them."""

from __future__ import annotations

from dataclasses import dataclass

from irt_engine.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Store values of all parameters.

    Parameters
    ----------
    z : ndarray of float, shape (S,)
        Shared parameters.
    phi : ndarray of float, shape (J, W)
        Parameters of the slots; log gaps are deviations from the common ones.
    """

    z: FloatArray
    phi: FloatArray

    def moved(self, step: Point, length: float) -> Point:
        """Return the point after a step.

        Parameters
        ----------
        step : Point
            The step.
        length : float
            Multiple of the step.

        Returns
        -------
        Point
            point + length * step.
        """
        return Point(self.z + length * step.z, self.phi + length * step.phi)


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Store diagonal prior precisions; prior means are 0.

    Parameters
    ----------
    z : ndarray of float, shape (S,)
        Of the shared parameters.
    phi : ndarray of float, shape (J, W)
        Of the slots' parameters.
    """

    z: FloatArray
    phi: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """Store the information of the cells.

    Only the prompts' own P parameters are stored; the blocks of replies follow from i_theta and cross.

    Parameters
    ----------
    i_theta : ndarray of float, shape (n,)
        Of theta, per cell.
    cross : ndarray of float, shape (n, P)
        Between theta and the slot's parameters, per cell.
    i_phi : ndarray of float, shape (J, P, P)
        Of the slots' parameters, summed over cells.
    """

    i_theta: FloatArray
    cross: FloatArray
    i_phi: FloatArray

    def plus(self, other: Information) -> Information:
        """Return the sum of two informations.

        Parameters
        ----------
        other : Information
            Information of the same cells.

        Returns
        -------
        Information
            The sum.
        """
        return Information(self.i_theta + other.i_theta, self.cross + other.cross, self.i_phi + other.i_phi)

    def minus(self, other: Information) -> Information:
        """Return the difference of two informations.

        Parameters
        ----------
        other : Information
            Information of the same cells.

        Returns
        -------
        Information
            The difference.
        """
        return Information(self.i_theta - other.i_theta, self.cross - other.cross, self.i_phi - other.i_phi)
