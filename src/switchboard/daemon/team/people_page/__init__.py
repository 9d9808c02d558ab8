"""The page of a gateway where people of a team answer questions."""
