"""Protocol of the kernels of the everyday fit."""

from __future__ import annotations

from typing import Protocol

from irt_engine.arrays import BoolArray, FloatArray, IntArray

from .kernel_data import Approximation, CellData, CellEffect, KernelResults, SlotData, SlotInformation


class Kernels(Protocol):
    """Describe the functions that both kinds of kernels have.

    `reference` and `reference_elimination` implement them in numpy, `compiled` with numba; a contract test compares
    both to 1e-9. Results are written into the last arguments. Notation: z (S,) are the shared parameters, A is their
    block of the precision, D_j (W, W) the block of slot j, and C_j (W, S) the block between them; x_i is the row of the
    design that `col` and `coef` hold.
    """

    CHUNK: int  # numbers in the cross blocks of the slots that are worked on together

    def expected_terms(
        self,
        slots: tuple[int, int],
        cells: CellData,
        prompts: SlotData,
        q: Approximation,
        effect: CellEffect,
        observed: bool,
        logs: bool,
        out: KernelResults,
        /,
    ) -> bool:
        """Fill the expected gradient and information of some slots' cells.

        Parameters
        ----------
        slots : (int, int)
            First slot, and the one after the last.
        cells : CellData
            The cells.
        prompts : SlotData
            The slots' parameters.
        q : Approximation
            Covariances of q.
        effect : CellEffect
            Quadrature over the cell effect.
        observed : bool
            Fill the observed information of the edges instead of the expected one.
        logs : bool
            Fill the log likelihood.
        out : KernelResults
            The results.

        Returns
        -------
        bool
            False if a covariance has no root.
        """
        ...

    def theta_information(
        self,
        slots: tuple[int, int],
        cells: CellData,
        q: Approximation,
        i_theta: FloatArray,
        parameters: int,
        total: FloatArray,
        /,
    ) -> bool:
        """Fill the sum over each slot's cells of i_theta var(theta | log alpha).

        Parameters
        ----------
        slots : (int, int)
            First slot, and the one after the last.
        cells : CellData
            The cells.
        q : Approximation
            Covariances of q.
        i_theta : ndarray of float, shape (n,)
            Information about theta.
        parameters : int
            Number of a slot's own parameters P.
        total : ndarray of float, shape (J,)
            The result.

        Returns
        -------
        bool
            False if a covariance has no root.
        """
        ...

    def inverse_factors(self, blocks: FloatArray, inverse: FloatArray, positive: BoolArray, /) -> None:
        """Fill the inverse Cholesky factor of each block.

        Parameters
        ----------
        blocks : ndarray of float, shape (J, W, W)
            Blocks D = L L'.
        inverse : ndarray of float, shape (J, W, W)
            The result L^-1.
        positive : ndarray of bool, shape (J,)
            Whether the block is positive definite.
        """
        ...

    def theta_of(self, col: IntArray, coef: FloatArray, z: FloatArray, theta: FloatArray, /) -> None:
        """Fill theta with x' z.

        Parameters
        ----------
        col : ndarray of int, shape (n, k)
            Columns of the design.
        coef : ndarray of float, shape (n, k)
            Coefficients of the design.
        z : ndarray of float, shape (S,)
            Shared parameters.
        theta : ndarray of float, shape (n,)
            The result.
        """
        ...

    def add_transposed(self, col: IntArray, coef: FloatArray, theta: FloatArray, z: FloatArray, /) -> None:
        """Add the sum of theta x over the cells to z.

        Parameters
        ----------
        col : ndarray of int, shape (n, k)
            Columns of the design.
        coef : ndarray of float, shape (n, k)
            Coefficients of the design.
        theta : ndarray of float, shape (n,)
            Values of the cells.
        z : ndarray of float, shape (S,)
            The result.
        """
        ...

    def add_shared(self, info: SlotInformation, shared: FloatArray, /) -> None:
        """Add the cells' information to the lower half of A.

        Parameters
        ----------
        info : SlotInformation
            Information of the cells.
        shared : ndarray of float, shape (S, S)
            The result A.
        """
        ...

    def add_replies(self, info: SlotInformation, D: FloatArray, /) -> None:
        """Add the cells' information about replies, and between replies and other parameters, to the slots' blocks.

        Parameters
        ----------
        info : SlotInformation
            Information of the cells.
        D : ndarray of float, shape (J, W, W)
            The result.
        """
        ...

    def cross_blocks(self, info: SlotInformation, first: int, last: int, C: FloatArray, /) -> None:
        """Fill the blocks between some slots and the shared parameters.

        Parameters
        ----------
        info : SlotInformation
            Information of the cells.
        first, last : int
            First slot, and the one after the last.
        C : ndarray of float, shape (slots, W, S)
            The result, initially 0.
        """
        ...

    def eliminate(self, info: SlotInformation, lower: FloatArray, shared: FloatArray, /) -> None:
        """Subtract C' D^-1 C of every slot from A.

        Parameters
        ----------
        info : SlotInformation
            Information of the cells.
        lower : ndarray of float, shape (J, W, W)
            L^-1 of D = L L'.
        shared : ndarray of float, shape (S, S)
            A, and the resulting Schur complement.
        """
        ...

    def slot_covariances(
        self,
        info: SlotInformation,
        first: int,
        lower: FloatArray,
        covariance: FloatArray,
        cross: FloatArray,
        own: FloatArray,
        /,
    ) -> None:
        """Fill B Sigma and B Sigma B' + D^-1 of some slots.

        B is -D^-1 C, plus 1 where a common log gap belongs to a total.

        Parameters
        ----------
        info : SlotInformation
            Information of the cells.
        first : int
            First slot.
        lower : ndarray of float, shape (slots, W, W)
            L^-1 of the slots.
        covariance : ndarray of float, shape (S, S)
            Covariance Sigma of the shared parameters.
        cross : ndarray of float, shape (slots, W, S)
            The result B Sigma.
        own : ndarray of float, shape (slots, W, W)
            The result B Sigma B' + D^-1.
        """
        ...

    def whole_covariances(
        self,
        lower: FloatArray,
        half: FloatArray,
        covariance: FloatArray,
        first_gap: int,
        common: int,
        cross: FloatArray,
        own: FloatArray,
        /,
    ) -> None:
        """Fill the covariances of `slot_covariances` from dense cross blocks.

        Parameters
        ----------
        lower : ndarray of float, shape (slots, W, W)
            L^-1 of the slots.
        half : ndarray of float, shape (slots, W, S)
            L^-1 C of the slots.
        covariance : ndarray of float, shape (S, S)
            Covariance Sigma of the shared parameters.
        first_gap : int
            First log gap in a slot's parameters.
        common : int
            First common log gap in z.
        cross, own : ndarray of float
            The results, as in `slot_covariances`.
        """
        ...

    def own_variances(
        self,
        covariance: FloatArray,
        cross: FloatArray,
        own: FloatArray,
        first_gap: int,
        common: int,
        variance: FloatArray,
        /,
    ) -> None:
        """Fill the variances of own deviations.

        A total log gap is the sum of the slot's deviation and the common log gap.

        Parameters
        ----------
        covariance : ndarray of float, shape (S, S)
            Covariance of the shared parameters.
        cross : ndarray of float, shape (slots, W, S)
            Covariances of totals with the shared parameters.
        own : ndarray of float, shape (slots, W, W)
            Covariances of totals.
        first_gap : int
            First log gap in a slot's parameters.
        common : int
            First common log gap in z.
        variance : ndarray of float, shape (slots, W)
            The result.
        """
        ...

    def pull_shared(self, info: SlotInformation, along: FloatArray, of_cells: FloatArray, total: FloatArray, /) -> None:
        """Add the sum over the cells of (of_cells + cross' along) x to the shared parameters.

        Parameters
        ----------
        info : SlotInformation
            Information of the cells.
        along : ndarray of float, shape (J, W)
            Vectors of the slots.
        of_cells : ndarray of float, shape (n,)
            Values of the cells.
        total : ndarray of float, shape (S,)
            The result.
        """
        ...

    def sum_slots(self, starts: IntArray, cross: FloatArray, theta: FloatArray, pull: FloatArray, /) -> None:
        """Fill the sums over each slot's cells of cross theta.

        Parameters
        ----------
        starts : ndarray of int, shape (J + 1,)
            First cell of each slot.
        cross : ndarray of float, shape (n, P)
            Information between theta and phi.
        theta : ndarray of float, shape (n,)
            Values of the cells.
        pull : ndarray of float, shape (J, W)
            The result, in the first P columns.
        """
        ...
