"""What `switchboard vault` and the doctor share."""
