"""Abilities without effects of prompts and replies, with sandwich covariances by clusters of votes."""

from .prompt_clusters import PromptSandwich, prompt_sandwich

__all__ = ["PromptSandwich", "prompt_sandwich"]
