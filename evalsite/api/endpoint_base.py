"""The base of views on endpoints. A chatbot is never called while a request waits: work is queued, and polled."""

import uuid

from rest_framework.request import Request

from evalsite.accounts.models import ApiToken
from evalsite.api.base_views import ManagerView
from evalsite.campaigns.endpoint_access import endpoint_for
from evalsite.endpoints.models import Endpoint


class EndpointBaseView(ManagerView):
    """A view for members of an organisation. Reading needs campaigns:read, all else chatbots:write."""

    writing = ApiToken.Scope.CHATBOTS

    def endpoint(self, request: Request, public_id: uuid.UUID, *, use: bool = True) -> Endpoint:
        return endpoint_for(public_id=public_id, user=self.user(request), use=use)
