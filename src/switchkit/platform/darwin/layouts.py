"""macOS: which question has which number, and where its answer holds what.

All of it is from Apple's published kernel source (xnu, `bsd/sys/proc_info.h`,
`proc_info_private.h`, `event.h`, `fcntl.h`, `sysctl.h`, `clonefile.h`), for both processors alike.
Numbers are stored in the order of the machine, but for ports and addresses.
"""

import sys

# `proc_listpids`: everybody, or the children of one.
ALL_PIDS, CHILDREN_OF = 1, 6

# `proc_pidinfo`, each with the bytes of its answer.
LIST_FILES, FILE_BYTES = 1, 8
BSD_INFO, BSD_INFO_BYTES = 3, 136
TASK_INFO, TASK_INFO_BYTES = 4, 96
FOLDER_INFO, FOLDER_INFO_BYTES = 9, 2352
SHORT_INFO, SHORT_INFO_BYTES = 13, 64
UNIQUE_INFO, UNIQUE_INFO_BYTES = 17, 56
# The argument of the BSD, short and unique ones with which those are told of that have ended.
WITH_ZOMBIES = 1

# `proc_bsdinfo`
BSD_TERMINAL_AT, BSD_STARTED_S_AT, BSD_STARTED_US_AT = 108, 120, 128
# `proc_bsdshortinfo`
SHORT_PARENT_AT, SHORT_GROUP_AT, SHORT_STATUS_AT, SHORT_NAME_AT = 4, 8, 12, 16
SHORT_USER_AT, SHORT_REAL_USER_AT = 36, 44
NAME_BYTES = 16
# `proc_uniqidentifierinfo`: counted up with each process, and never given twice in a boot.
UNIQUE_AT = 16
# `proc_taskinfo`
RESIDENT_AT = 8
# `proc_vnodepathinfo`: the working folder, behind what `stat` would tell of it.
FOLDER_PATH_AT, PATH_BYTES = 152, 1024
# SIDL, SRUN, SSLEEP, SSTOP and SZOMB, in letters as Linux has them.
STATES = "?IRSTZ"
NO_TERMINAL = 0xFFFF_FFFF

# `proc_fdinfo`
FILE_NUMBER_AT, FILE_KIND_AT = 0, 4
OF_VNODE, OF_SOCKET, OF_PIPE = 1, 2, 6

# `proc_pidfdinfo`, each with the bytes of its answer, which begins with a `proc_fileinfo`.
VNODE_PATH_INFO, VNODE_PATH_INFO_BYTES = 2, 1200
SOCKET_INFO, SOCKET_INFO_BYTES = 3, 792
PIPE_INFO, PIPE_INFO_BYTES = 6, 184
OPEN_FLAGS_AT, CAN_WRITE = 0, 2
# `vinfo_stat`, which is in all three behind the first 24 bytes.
DEVICE_AT, INODE_AT = 24, 32
VNODE_PATH_AT = 176
PIPE_OWN_AT, PIPE_OTHER_AT = 160, 168
SOCKET_AT, SOCKET_KIND_AT = 160, 256
KIND_TCP = 2
# `in_sockinfo` and `tcp_sockinfo`. Ports are the first two bytes of four, as the network has them.
REMOTE_PORT_AT, LOCAL_PORT_AT = 264, 268
ADDRESS_KIND_AT, LOCAL_ADDRESS_AT, TCP_STATE_AT = 288, 312, 344
IS_V4, IS_V6 = 1, 2
V4_IN_ADDRESS = 12
LISTENS, IS_CONNECTED = 1, 4

# `sysctl`: CTL_KERN with KERN_PROCARGS2 and a process, or KERN_ARGMAX.
ARGUMENTS_OF, MOST_ARGUMENTS = (1, 49), (1, 8)
BOOT_NAME = b"kern.bootsessionuuid"

# `fcntl`
GET_PATH, FULL_SYNC, PUNCH_HOLE = 50, 51, 99
PUNCH_FORMAT = "=IIqq"
OPEN_FOR_EVENTS = 0x8000
# `pathconf`
CASE_COUNTS = 11
# `clonefile`
CLONE_NO_FOLLOW = 1
CANNOT_SHARE = (45, 18, 22, 78)  # ENOTSUP, EXDEV, EINVAL, ENOSYS
# `kevent`: the filter, what is asked for, and to tell it once.
FILTER_PROCESS, NOTE_EXIT, ADD_ONCE = -5, 0x8000_0000, 0x0001 | 0x0010


def number(raw: bytes, at: int, size: int = 4) -> int:
    """A number without a sign, as the kernel stores it."""
    return int.from_bytes(raw[at : at + size], sys.byteorder)


def port(raw: bytes, at: int) -> int:
    """The number of a port, as the network has it."""
    return int.from_bytes(raw[at : at + 2], "big")


def text(raw: bytes, at: int, most: int) -> bytes:
    """What stands before the first zero."""
    return raw[at : at + most].partition(b"\0")[0]
