"""Brings the tables up to date; may run any number of times."""

from database import query

query(
    "create table if not exists orders (id serial primary key, item text not null, "
    "state text not null default 'new')"
)
print("migrated")
