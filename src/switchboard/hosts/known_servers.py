"""What well-known servers are for, in the words that a model chooses by.

A server says it itself once it has been started. Until then a name such as `gh` says little.
"""

import os
import re
from collections.abc import Sequence

# Scopes and versions of packages, which several registries write in several ways.
_VERSION = re.compile(r"(?<=.)@[^@/]{1,40}$|[=<>~]=.{1,40}$")
# Each completes the sentence “Use this tool for …”.
_PURPOSES = {
    "server-filesystem": "files in chosen folders: read, write, move, search",
    "server-memory": "a knowledge graph that lasts: entities, relations, observations",
    "server-everything": "trying out a server that has one of everything",
    "server-sequential-thinking": "thinking a problem through in steps that can be revised",
    "server-github": "GitHub: repositories, issues, pull requests, code search",
    "github-mcp-server": "GitHub: repositories, issues, pull requests, code search",
    "server-gitlab": "GitLab: projects, issues, merge requests",
    "server-slack": "Slack: channels, messages, users",
    "server-postgres": "queries of a PostgreSQL database, read only",
    "server-brave-search": "search of the web, images, news and places",
    "brave-search-mcp-server": "search of the web, images, news and places",
    "server-puppeteer": "driving a browser: open pages, click, fill in, take screenshots",
    "server-google-maps": "Google Maps: places, directions, distances",
    "mcp-server-fetch": "fetching a web page as Markdown",
    "mcp-server-git": "a Git repository: status, diff, commit, log, branches",
    "mcp-server-time": "the current time, and conversion between time zones",
    "mcp-server-sqlite": "an SQLite database: queries and changes",
    "mcp-server-motherduck": "DuckDB and MotherDuck databases",
    "mcp-server-docker": "Docker: containers, images, volumes, networks",
    "mcp-server-kubernetes": "Kubernetes: resources, logs, deployments",
    "context7-mcp": "up-to-date documentation and examples of libraries",
    "playwright-mcp": "driving a browser by its accessibility tree",
    "chrome-devtools-mcp": "inspecting and driving Chrome: pages, network, console, performance",
    "firecrawl-mcp": "crawling and scraping web sites into Markdown",
    "tavily-mcp": "search and extraction of web pages",
    "exa-mcp-server": "search of the web",
    "notion-mcp-server": "Notion: pages, databases, comments",
    "figma-developer-mcp": "layout and styles of Figma files",
    "mcp-atlassian": "Jira and Confluence: issues, boards, pages",
    "sentry-mcp": "Sentry: issues, events, projects",
    "stripe-mcp": "Stripe: customers, payments, invoices",
    "supabase-mcp": "Supabase: databases, functions, branches",
    "mongodb-mcp-server": "queries and management of MongoDB",
    "redis-mcp-server": "reading and writing Redis",
    "linear-mcp": "Linear: issues, projects, cycles",
    "desktop-commander": "terminal commands, and editing and searching files",
    "serena": "reading and editing code by its symbols",
    "markitdown-mcp": "documents (PDF, Word, Excel, images) as Markdown",
    "duckduckgo-mcp-server": "search of the web",
    "arxiv-mcp-server": "papers of arXiv: search and reading",
    "basic-memory": "notes that last, as Markdown files",
    "obsidian-mcp": "notes of an Obsidian vault: reading and writing",
}


def purpose_of(command: str, args: Sequence[str]) -> str:
    """What a server is for, if it is one of the well known; else nothing."""
    for word in (command, *args):
        if word.startswith("-"):
            continue
        plain = _VERSION.sub("", word)
        name = os.path.basename(plain)
        # `@playwright/mcp` and `@sentry/mcp-server` are named by their scope.
        scoped = f"{plain[1:].partition('/')[0]}-mcp" if plain.startswith("@") else ""
        for key in (name, scoped):
            if _PURPOSES.get(key):
                return _PURPOSES[key]
    return ""
