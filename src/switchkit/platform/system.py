"""The system that this program runs on, chosen once."""

import sys

if sys.platform == "darwin":
    from switchkit.platform import darwin as _chosen
else:
    from switchkit.platform import linux as _chosen

SHOWS_PROCESSES = _chosen.SHOWS_PROCESSES
adopt_orphans = _chosen.adopt_orphans
boot = _chosen.boot
clone_file = _chosen.clone_file
command_line = _chosen.command_line
command_words = _chosen.command_words
first_children = _chosen.first_children
folder_identity = _chosen.folder_identity
lower_limit = _chosen.lower_limit
open_exit = _chosen.open_exit
pids = _chosen.pids
process_namespace = _chosen.process_namespace
punch_hole = _chosen.punch_hole
raw_environment = _chosen.raw_environment
owner_of = _chosen.owner_of
streams_of = _chosen.streams_of
is_input_over = _chosen.is_input_over
user_of = _chosen.user_of
resident_bytes = _chosen.resident_bytes
scratch_file = _chosen.scratch_file
set_limit = _chosen.set_limit
signal_exactly = _chosen.signal_exactly
stream_of = _chosen.stream_of
unread_bytes = _chosen.unread_bytes
vitals = _chosen.vitals
was_cut_off = _chosen.was_cut_off
watch_folders = _chosen.watch_folders
watch_writes = _chosen.watch_writes
working_folder = _chosen.working_folder
widen_pipe = _chosen.widen_pipe
