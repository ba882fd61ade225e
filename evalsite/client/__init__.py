"""Client of the API: `Client` sends requests with retries, follows pages, and reads files.

It needs httpx2, and pandas for `to_frame`. It imports nothing else of this project.
"""

from evalsite.client.client import Client, ObjectList
from evalsite.client.retries import ClientError, Patience

__all__ = ["Client", "ClientError", "ObjectList", "Patience"]
