"""Files of conversations, of their ratings and of labels of their turns."""
