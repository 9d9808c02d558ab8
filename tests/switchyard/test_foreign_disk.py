"""A home of Switchyard on a disk of Windows, as WSL shows it."""

from yardlab import Lab

from support.mounted import as_mounted

PROJECT = """
[services.web]
command = [SVC, "serve"]
port = 0
"""


def test_nothing_is_kept_there_and_doctor_says_why(lab: Lab) -> None:
    lab.config(PROJECT)
    lab.env = as_mounted(lab.env, lab.folder, "9p drvfs rw,dirsync,aname=drvfs;path=C:\\;uid=1000")
    refused = lab.json("up", "--json", code=1)
    assert refused["error"]["code"] == "home-foreign-disk"
    assert "a disk of Windows (`9p`)" in refused["error"]["message"]
    assert "SWITCHYARD_HOME=/home/$USER/.switchyard" in refused["error"]["hint"]
    assert not lab.home.exists()
    doctor = lab.json("doctor", "--json", code=None)
    [problem] = [each for each in doctor["problems"] if "disk of Windows" in each]
    assert "export SWITCHYARD_HOME=" in problem
