from django.apps import AppConfig


class ChatbotsConfig(AppConfig):
    name = "evalsite.chatbots"
    label = "chatbots"
    verbose_name = "Chatbots"
