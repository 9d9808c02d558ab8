"""Loopback stand-ins for the model services that hosts talk to.

A script is a list of steps; each turns what a host offers into the model's next words. Which step
is due shows in the conversation itself, so a host that repeats a request gets the same answer.
"""
