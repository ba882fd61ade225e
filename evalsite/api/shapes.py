"""Shapes of what goes out, for the OpenAPI file alone: presenters make plain dictionaries, a test compares the two."""

from typing import Any

from rest_framework import serializers as s

from evalsite.judgments.empty_claims import Wait


class Shape(s.Serializer[Any]):
    pass


class Fate(Shape):
    line = s.IntegerField(help_text="of the file, from 1, on which the row begins")
    prompt_id = s.CharField(allow_blank=True)
    fate = s.ChoiceField(choices=["add", "same", "refused"], help_text="same: there already, word for word")
    problem = s.CharField(allow_blank=True, help_text="why it is refused")


class Problem(Shape):
    code = s.CharField(help_text="stable, for programs")
    message = s.CharField(help_text="what happened")
    hint = s.CharField(help_text="what to do now", allow_blank=True)
    field = s.CharField(help_text="the input at fault", allow_blank=True)
    rows = Fate(many=True, required=False, help_text="of rows_refused alone: which, the first 1,000 of them")


class Error(Shape):
    error = Problem()


class Enrolled(Shape):
    annotator = s.UUIDField()
    token = s.CharField(help_text="shown this once; send it as Authorization: Bearer <token>")


class Turn(Shape):
    speaker = s.CharField(help_text="user or chatbot")
    text = s.CharField()


class Context(Shape):
    prompt = s.CharField()
    category = s.CharField(allow_blank=True)
    turns = Turn(many=True, allow_null=True)


class Candidate(Shape):
    position = s.IntegerField()
    label = s.CharField(help_text="A or B")  # type: ignore[assignment]  # also an attribute of every field
    text = s.CharField(allow_null=True, allow_blank=True)


class Aspect(Shape):
    key = s.CharField()
    question = s.CharField()
    kind = s.CharField()
    choices = s.ListField(child=s.CharField(), help_text="of A, tie, B, both_bad")


class Assignment(Shape):
    id = s.UUIDField()
    lease_until = s.DateTimeField(allow_null=True)
    context = Context()  # type: ignore[assignment]  # also an attribute of every field
    candidates = Candidate(many=True)
    aspects = Aspect(many=True)


class Waiting(Shape):
    state = s.CharField(help_text="of the campaign; stopped: there will be nothing more")
    retry_after_s = s.FloatField(help_text="when to ask again after an empty block")
    reason = s.ChoiceField(
        choices=[wait.value for wait in Wait], allow_null=True, help_text="why the block is empty; null with a block"
    )
    hint = s.CharField(allow_blank=True, help_text="what to do about an empty block")


class Block(Shape):
    assignments = Assignment(many=True)
    campaign = Waiting()


class Whose(Waiting):
    id = s.UUIDField(allow_null=True, help_text="null: no campaign has a block now; state is then that of all joined")
    slug = s.CharField(allow_null=True)


class Work(Shape):
    assignments = Assignment(many=True)
    campaign = Whose()


class QualificationCandidate(Shape):
    label = s.CharField(help_text="A or B")  # type: ignore[assignment]  # also an attribute of every field
    text = s.CharField()


class QualificationAsked(Shape):
    item = s.IntegerField()
    attempt = s.IntegerField(help_text="1 or 2")
    question = s.CharField()
    choices = s.ListField(child=s.CharField())
    turns = Turn(many=True)
    candidates = QualificationCandidate(many=True)


class Qualification(Shape):
    state = s.ChoiceField(choices=["open", "passed", "failed"])
    answered = s.IntegerField(help_text="in this attempt")
    of = s.IntegerField()
    pass_mark = s.IntegerField()
    attempts = s.IntegerField()
    next = QualificationAsked(allow_null=True)


class Qualified(Shape):
    choice = s.CharField()
    right = s.CharField()
    explanation = s.CharField(allow_blank=True)
    qualification = Qualification()


class Joined(Shape):
    annotator = s.UUIDField()
    campaign = s.UUIDField()


class Recorded(Shape):
    judgment = s.UUIDField()
    supersedes = s.UUIDField(allow_null=True)
    late = s.BooleanField(help_text="came after its lease")
    counts = s.BooleanField(
        help_text="fits see it; false for a late one whose place somebody had taken, or above the quota"
    )
    paid = s.BooleanField(help_text="earns what was agreed; false above the quota, and where nothing is paid")
    answered_at = s.DateTimeField(allow_null=True)


class Skipped(Shape):
    skipped = s.UUIDField()


class Renewed(Shape):
    lease_until = s.DateTimeField()


class Returned(Shape):
    returned = s.IntegerField()


class Pay(Shape):
    currency = s.CharField()
    amount = s.CharField(help_text="decimal")


class Progress(Shape):
    judgments = s.IntegerField()
    open = s.IntegerField()
    quota = s.IntegerField(allow_null=True)
    pay = Pay(many=True)


class Limits(Shape):
    """What ends a campaign, in the order in which it is asked after every refit."""

    target_se = s.FloatField(allow_null=True, help_text="in logits, of every chatbot's ability")
    min_difference = s.FloatField(allow_null=True, help_text="instead: in logits, between neighbours")
    alpha = s.FloatField(help_text="two-sided level of that test")
    power = s.FloatField(help_text="with which it finds the difference")
    budget = s.IntegerField(allow_null=True, help_text="judgments")
    deadline = s.DateTimeField(allow_null=True)


class Campaign(Shape):
    id = s.UUIDField()
    slug = s.CharField()
    name = s.CharField()
    description = s.CharField(allow_blank=True)
    organisation = s.CharField()
    organisation_verified = s.BooleanField(help_text="whether staff of this site have confirmed its name")
    state = s.CharField(help_text="draft, pilot, running, paused or stopped")
    stop_reason = s.CharField(allow_blank=True)
    visibility = s.CharField(help_text="private, link or public")
    policy = s.CharField()
    fits_known_ties = s.BooleanField(help_text="whether abilities learn of the same text twice as of a tie")
    limits = Limits()
    started_at = s.DateTimeField(allow_null=True)
    stopped_at = s.DateTimeField(allow_null=True)
    aspects = Aspect(many=True)


class Chatbot(Shape):
    id = s.UUIDField()
    entrant = s.UUIDField(help_text="this version's taking part in this campaign")
    name = s.CharField()
    organisation = s.CharField()
    organisation_verified = s.BooleanField(help_text="whether staff of this site have confirmed its name")
    version = s.CharField()
    kind = s.CharField(help_text="static or live")
    state = s.CharField(help_text="active or withdrawn")
    joined_at = s.DateTimeField()


class Prompt(Shape):
    id = s.UUIDField()
    key = s.CharField()
    revision = s.IntegerField()
    category = s.CharField(allow_blank=True)
    turns = Turn(many=True, allow_null=True)
    origin = s.CharField(help_text="authored, import or live")


class Judgment(Shape):
    id = s.UUIDField()
    supersedes = s.UUIDField(allow_null=True)
    assignment = s.UUIDField()
    prompt = s.CharField(help_text="its key")
    category = s.CharField(allow_blank=True)
    aspect = s.CharField()
    candidates = s.ListField(child=s.CharField(), help_text="names, A first")
    order_known = s.BooleanField(help_text="whether A was shown first, or nobody knows")
    choice = s.ChoiceField(choices=["A", "B", "tie", "both_bad"])
    annotator = s.UUIDField(allow_null=True, help_text="a pseudonym")
    annotator_kind = s.CharField(help_text="human, simulated, model or unknown")
    counted = s.BooleanField(help_text="whether a fit sees it")
    late = s.BooleanField()
    client_ms = s.IntegerField(allow_null=True)
    answered_at = s.DateTimeField(allow_null=True)
    recorded_at = s.DateTimeField()
    purpose = s.CharField(help_text="measure, overlap, gold or qualification")
    policy = s.CharField(allow_blank=True, help_text="that chose it")
    probability = s.FloatField(allow_null=True, help_text="with which it was drawn")
    over_quota = s.BooleanField(help_text="a late one above its annotator's quota: does not count, is not paid")
    reasons = s.ListField(child=s.CharField(), help_text="of those that the campaign offers")
    comment = s.CharField(allow_blank=True, help_text="in the annotator's words")


class SkipListed(Shape):
    assignment = s.UUIDField(help_text="also the cursor of this list")
    prompt = s.CharField(help_text="its key")
    category = s.CharField(allow_blank=True)
    candidates = s.ListField(child=s.CharField(), help_text="names, A first")
    annotator = s.UUIDField(allow_null=True, help_text="a pseudonym")
    annotator_kind = s.CharField(help_text="human, simulated, model or unknown")
    reason = s.CharField(help_text="cannot_judge, broken, offensive or other")
    note = s.CharField(allow_blank=True, help_text="in the annotator's words")
    purpose = s.CharField(help_text="measure, overlap, gold or qualification")
    skipped_at = s.DateTimeField()


class BoardListed(Shape):
    id = s.UUIDField()
    slug = s.CharField()
    name = s.CharField()
    category = s.CharField(allow_blank=True)


class BoardRow(Shape):
    """Ability, SE and 95 % bounds in logits, relative to the mean of the group."""

    chatbot = s.UUIDField()
    name = s.CharField()
    organisation = s.CharField()
    kind = s.CharField()
    rank = s.IntegerField()
    rank_lower = s.IntegerField()
    rank_upper = s.IntegerField()
    ability = s.FloatField()
    se = s.FloatField()
    lower = s.FloatField()
    upper = s.FloatField()
    judgments = s.IntegerField()
    group = s.IntegerField(help_text="chatbots of two groups were never compared, not even through others")
    preliminary = s.BooleanField()
    # Snapshots never change: those made before one of these was added are without it.
    version = s.UUIDField(required=False)
    version_label = s.CharField(required=False)
    rank_class = s.IntegerField(
        required=False, help_text="from 1 in the group: chatbots that the strongest of them is not told apart from"
    )
    win_rate = s.FloatField(
        required=False, allow_null=True, help_text="wins and half of the ties, of the judgments and the known ties"
    )
    known_ties = s.IntegerField(
        required=False, help_text="prompts to which another chatbot gave the same reply; nobody is asked about them"
    )
    tier = s.IntegerField(
        required=False, allow_null=True, help_text="1 for the stronger half; null where parts have scales of their own"
    )


class Snapshot(Shape):
    id = s.UUIDField()
    number = s.IntegerField()
    created_at = s.DateTimeField()
    judgments = s.IntegerField()
    converged = s.BooleanField()


class SnapshotWhole(Snapshot):
    input_sha256 = s.CharField()
    engine = s.CharField()
    seed = s.IntegerField()
    annotators = s.IntegerField()
    chatbots = BoardRow(many=True)


class Decision(Shape):
    stop = s.BooleanField()
    reason = s.CharField()
    evidence = s.DictField(child=s.FloatField())


class Slice(Shape):
    by = s.CharField(help_text="aspect, category or kind")
    value = s.CharField()
    judgments = s.IntegerField(help_text="that there are behind the filter; below 30 there is no ranking of them")
    trouble = s.CharField(help_text="why its last fit failed; empty if it did not")


class Board(Shape):
    board = s.CharField()
    name = s.CharField()
    question = s.CharField()
    state = s.CharField(allow_null=True)
    judgments = s.IntegerField()
    annotators = s.IntegerField()
    snapshot = Snapshot(allow_null=True)
    decision = Decision(allow_null=True)
    filter = Slice(allow_null=True)
    chatbots = BoardRow(many=True)


class Page(Shape):
    next = s.UUIDField(allow_null=True, help_text="the cursor of the next page; null on the last")


class Campaigns(Page):
    results = Campaign(many=True)


class Chatbots(Page):
    results = Chatbot(many=True)


class Prompts(Page):
    results = Prompt(many=True)


class Judgments(Page):
    results = Judgment(many=True)


class Skips(Page):
    results = SkipListed(many=True)


class Boards(Page):
    results = BoardListed(many=True)


class Snapshots(Page):
    results = Snapshot(many=True)


class Named(Shape):
    id = s.UUIDField(allow_null=True, help_text="null: it would be made")
    name = s.CharField()


class VersionNamed(Shape):
    id = s.UUIDField(allow_null=True, help_text="null: it would be made")
    label = s.CharField()  # type: ignore[assignment]  # also an attribute of every field


class Sent(Shape):
    add = s.IntegerField(help_text="rows that were taken in; with check: that would be")
    refused = s.IntegerField()
    rows = Fate(many=True, help_text="the refused ones first, up to 1,000")
    passed_over = s.ListField(child=s.CharField(allow_blank=True), help_text="columns that mean nothing here")


class PromptsSent(Sent):
    prompt_set = Named()
    same = s.IntegerField(help_text="there already, word for word")


class RepliesSent(Sent):
    chatbot = Named()
    version = VersionNamed()
    prompts = s.IntegerField(help_text="of the set")
    without_reply = s.IntegerField(help_text="how many of them have none")
    missing = s.ListField(child=s.CharField(), help_text="their prompt_ids, up to 1,000")
