"""What every door of the API is: it offers the methods that it has, and says no more than that in `Allow`."""

from rest_framework.views import APIView


class Door(APIView):
    """OPTIONS is not answered (docs/openapi.yaml says what there is), and so it is not offered."""

    http_method_names = [name for name in APIView.http_method_names if name != "options"]
