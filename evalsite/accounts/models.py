from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evalsite.core.confusable_names import skeleton
from evalsite.core.db import PublicModel, write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.core.names import ShownNames, as_validation_error


class People(UserManager["User"]):
    """Manager of users. Every way to create one (also createsuperuser) checks the name and adds an organisation."""

    def _create_user(self, username: str, *args: Any, **fields: Any) -> "User":
        as_validation_error(User(username=username or "").names_check)
        with write_transaction():
            user = super()._create_user(username, *args, **fields)  # type: ignore[misc]
            Organisation.objects.found(name=user.get_username(), owner=user, personal=True)
        return user  # type: ignore[no-any-return]


class User(ShownNames, PublicModel, AbstractUser):
    """A person with an account. Annotators need none: they are pseudonyms (judgments.Annotator)."""

    names = ("username",)

    language = models.CharField(max_length=10, blank=True, default="", help_text="of mails; blank: the site's")

    objects: ClassVar[People] = People()

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(Lower("email"), condition=~Q(email=""), name="user_email_unique_in_any_case"),
        ]

    def looks_check(self, field: str) -> None:
        """Raise InvalidInput if another user's name looks the same and at least one of the two is plain ASCII."""
        if self._looks_like_another():
            raise InvalidInput(
                gettext("There is already an account whose name looks the same."),
                hint=gettext("Choose another name."),
                field=field,
            )

    def _looks_like_another(self) -> bool:
        looks, others = skeleton(self.username), User.objects.exclude(pk=self.pk)
        if looks != self.username.casefold():
            return others.filter(username__iexact=looks).exists()
        others = others.exclude(username__regex=r"^[ -~]*$")
        return any(skeleton(other) == looks for other in others.values_list("username", flat=True).iterator())

    @property
    def mail_language(self) -> str:
        """Return the language of mails to this person, whoever causes them."""
        return self.language if self.language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


class Organisations(models.Manager["Organisation"]):
    """Manager of organisations. Creating one requires a free slug, and adds its owner as a member."""

    def found(self, *, name: str, owner: User | None = None, personal: bool = False) -> "Organisation":
        with write_transaction():
            organisation = self.create(name=name, slug=self._free_slug(name), personal_of=owner if personal else None)
            if owner is not None:
                Membership.objects.create(organisation=organisation, user=owner, role=Membership.Role.OWNER)
        return organisation

    def _free_slug(self, name: str) -> str:
        stem = slugify(name)[:60] or "organisation"
        taken = set(self.filter(slug__startswith=stem).values_list("slug", flat=True))
        if stem not in taken:
            return stem
        return next(slug for number in range(2, len(taken) + 3) if (slug := f"{stem}-{number}") not in taken)


class Organisation(ShownNames, PublicModel):
    """Owner of chatbots, prompt sets and campaigns. Every person has an organisation of their own."""

    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80, unique=True)
    personal_of = models.OneToOneField(
        User, null=True, blank=True, on_delete=models.PROTECT, related_name="personal_organisation"
    )
    members = models.ManyToManyField(User, through="Membership", related_name="organisations")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    verified_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="when staff confirmed that it is who its name says"
    )

    objects = Organisations()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        MANAGER = "manager", _("Manager")
        VIEWER = "viewer", _("Viewer")

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="membership_once"),
            models.CheckConstraint(condition=Q(role__in=["owner", "manager", "viewer"]), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.organisation}"


class ApiToken(models.Model):
    """API key of a person's programs, with the person's read access within its scopes. Only its hash is stored."""

    class Scope(models.TextChoices):
        CAMPAIGNS = "campaigns:read", _("Read campaigns, chatbots, prompts, and boards")
        JUDGMENTS = "judgments:read", _("Read single judgments, and files of them")
        ACTS = "campaigns:write", _("Launch, pause, exclude annotators, and all else that your roles allow")
        PROMPTS = "prompts:write", _("Upload prompts where your roles allow it")
        CHATBOTS = "chatbots:write", _("Upload replies of chatbots where your roles allow it")

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="what it is for")
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="to the hour")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], condition=Q(revoked_at__isnull=True), name="api_token_name_once_per_user"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="api_token_has_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class SetupLink(models.Model):
    """The one link that creates the first administrator. Only its hash is stored; a new link replaces it."""

    sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="setup_link_only_one")]

    def __str__(self) -> str:
        return f"setup link until {self.expires_at:%Y-%m-%d %H:%M}"


class MemberInvitation(PublicModel):
    """An invitation to an organisation, for one person. Its address is removed once it is accepted or withdrawn."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="member_invitations")
    email = models.EmailField(blank=True, default="")
    role = models.CharField(max_length=10, choices=Membership.Role)
    invited_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("email"), "organisation", condition=~Q(email=""), name="member_invitation_once_per_address"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "manager", "viewer"]), name="member_invitation_role_known"
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None) | Q(withdrawn_at=None), name="member_invitation_ends_once"
            ),
            models.CheckConstraint(
                condition=Q(email="") | Q(accepted_at=None, withdrawn_at=None),
                name="member_invitation_ended_has_no_address",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation of a {self.role} to {self.organisation}"


class SingleSignOnIdentity(models.Model):
    """A person's identity at the provider of single sign-on: its issuer and the person's identifier there."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="single_sign_on_identities")
    issuer = models.URLField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "single sign-on identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="single_sign_on_identity_once"),
            models.CheckConstraint(condition=~Q(subject=""), name="single_sign_on_identity_has_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"


class OwnedQuerySet(models.QuerySet[Any]):
    """Queryset of objects that belong to an organisation. Every query starts with a filter by owner."""

    def of(self, user: User | None) -> Self:
        """Filter by the organisations of this person; none for an anonymous user."""
        if user is None or not user.is_authenticated:
            return self.none()
        return self.filter(organisation__in=Membership.objects.filter(user=user).values("organisation"))
