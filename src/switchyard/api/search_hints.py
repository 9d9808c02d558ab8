"""What people call the tools, for the search of a host that keeps them back until it needs them.

That search knows no forms of words and none of one meaning.
"""

# No model reads it, so it costs nobody a token.
SEARCH_HINT = "anthropic/searchHint"
HINTS = {
    "switchyard_doctor": "diagnose check setup problem broken environment",
    "switchyard_create": "new add branch checkout folder parallel",
    "switchyard_list": "show branches folders checkouts",
    "switchyard_status": "running dev server app health alive processes",
    "switchyard_brief": "overview context dev server running errors",
    "switchyard_where": "url address port localhost open browser dev server",
    "switchyard_logs": "output console stderr errors dev server print",
    "switchyard_up": "run launch boot dev server app backend frontend local",
    "switchyard_checkout": "switch use port localhost preview branch",
    "switchyard_uncheckout": "free unmap port localhost",
    "switchyard_down": "kill end shut halt terminate dev server app",
    "switchyard_restart": "reload reboot again dev server app",
    "switchyard_wait": "until healthy started booted dev server",
}
