"""Commands that keep something in the home say first of all where that cannot be."""

from switchboard.cli.render import hint
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import places_for
from switchboard.config.locate import find_places
from switchboard.config.problems import ConfigInvalid
from switchboard.settings.placing.usable_home import home_fault


def check_home(request: CommandRequest) -> None:
    """Raise `ConfigInvalid` where nothing could be kept, before anything is changed."""
    places = places_for(request)
    if (fault := home_fault(places.home)) is not None:
        raise ConfigInvalid([fault], user_home=places.user_home)


def told_of_home(request: CommandRequest) -> str:
    """The same for who only looks: it is said before everything else, and given."""
    request.check_directory()
    fault = home_fault(find_places(request.environ, request.workspace, []).home)
    if fault is None:
        return ""
    style = request.talk.style
    if not request.talk.is_silent:
        request.talk.say(f"{style.red('error:')} {style.paths(fault.path)}: {fault.message}")
        request.talk.say(hint(style, fault.hint))
    return fault.message
