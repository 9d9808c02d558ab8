"""What tests of every kind share: clients, small children, temporary workspaces, model mocks."""
