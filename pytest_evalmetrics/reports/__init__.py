"""Results -> what people and machines read: text, and the artifacts."""
