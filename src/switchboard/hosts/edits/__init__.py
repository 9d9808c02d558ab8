"""Small changes of a file in the grammar of its host. What is not meant stays, byte for byte."""
