"""What several verbs share: settings, a running board, entries as people read them."""
