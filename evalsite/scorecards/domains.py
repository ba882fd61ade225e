"""The topical domains of utterances."""

DOMAINS = (
    "phatic",
    "chatbot",
    "movies_tv",
    "music",
    "books",
    "sports",
    "games",
    "celebrities",
    "politics_news",
    "science_nature",
    "technology",
    "food_drink",
    "travel_places",
    "animals",
    "family_relationships",
    "work_money",
    "education",
    "health_fitness",
    "arts_hobbies",
    "fashion_shopping",
    "vehicles",
    "weather_time",
    "religion_philosophy",
    "feelings",
    "history",
    "humor_wordplay",
    "none",
)
# Domains of utterances without a subject: they neither break nor extend a run.
UNATTACHED = frozenset({"phatic", "none"})
# Groups of domains whose mean ratings are compared.
RATING_GROUPS = (
    frozenset({"sports"}),
    frozenset({"politics_news"}),
    frozenset({"movies_tv", "music", "books", "games", "celebrities"}),
    frozenset({"technology"}),
    frozenset({"fashion_shopping"}),
)
