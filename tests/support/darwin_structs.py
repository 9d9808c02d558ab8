"""The structures of macOS's kernel, field by field as its headers have them.

From the published source of the kernel (xnu, `bsd/sys/proc_info.h` and `proc_info_private.h`, of
the macOS 15 line). Nothing here is used by the program: `layouts` has its own numbers, and a test
compares the two.
"""

import ctypes
from ctypes import Structure, c_char, c_int32, c_uint8, c_uint16, c_uint32, c_uint64

_NAME = c_char * 16
_PATH = c_char * 1024


class BsdInfo(Structure):
    """`struct proc_bsdinfo`."""

    _fields_ = (
        *((name, c_uint32) for name in ("flags", "status", "xstatus", "pid", "ppid")),
        *((name, c_uint32) for name in ("uid", "gid", "ruid", "rgid", "svuid", "svgid", "rfu")),
        ("comm", _NAME),
        ("name", c_char * 32),
        *((name, c_uint32) for name in ("nfiles", "pgid", "pjobc", "tdev", "tpgid")),
        ("nice", c_int32),
        ("start_tvsec", c_uint64),
        ("start_tvusec", c_uint64),
    )


class ShortInfo(Structure):
    """`struct proc_bsdshortinfo`."""

    _fields_ = (
        *((name, c_uint32) for name in ("pid", "ppid", "pgid", "status")),
        ("comm", _NAME),
        *((name, c_uint32) for name in ("flags", "uid", "gid", "ruid", "rgid", "svuid", "svgid")),
        ("rfu", c_uint32),
    )


class UniqueInfo(Structure):
    """`struct proc_uniqidentifierinfo`."""

    _fields_ = (
        ("uuid", c_uint8 * 16),
        ("uniqueid", c_uint64),
        ("puniqueid", c_uint64),
        ("idversion", c_int32),
        ("orig_ppidversion", c_int32),
        ("reserve2", c_uint64),
        ("reserve3", c_uint64),
    )


class TaskInfo(Structure):
    """`struct proc_taskinfo`."""

    _fields_ = (
        *((name, c_uint64) for name in ("virtual_size", "resident_size", "user", "system")),
        *((name, c_uint64) for name in ("threads_user", "threads_system")),
        *((f"count_{index}", c_int32) for index in range(12)),
    )


class Stat(Structure):
    """`struct vinfo_stat`."""

    _fields_ = (
        ("dev", c_uint32),
        ("mode", c_uint16),
        ("nlink", c_uint16),
        ("ino", c_uint64),
        ("uid", c_uint32),
        ("gid", c_uint32),
        *((f"time_{index}", c_uint64) for index in range(8)),
        ("size", c_uint64),
        ("blocks", c_uint64),
        ("blksize", c_int32),
        ("flags", c_uint32),
        ("gen", c_uint32),
        ("rdev", c_uint32),
        ("spare", c_uint64 * 2),
    )


class VnodePath(Structure):
    """`struct vnode_info_path`."""

    _fields_ = (
        ("stat", Stat),
        ("type", c_int32),
        ("pad", c_int32),
        ("fsid", c_int32 * 2),
        ("path", _PATH),
    )


class FolderInfo(Structure):
    """`struct proc_vnodepathinfo`."""

    _fields_ = (("cdir", VnodePath), ("rdir", VnodePath))


class FileEntry(Structure):
    """`struct proc_fdinfo`."""

    _fields_ = (("fd", c_int32), ("fdtype", c_uint32))


class FileInfo(Structure):
    """`struct proc_fileinfo`."""

    _fields_ = (
        ("openflags", c_uint32),
        ("status", c_uint32),
        ("offset", c_uint64),
        ("type", c_int32),
        ("guardflags", c_uint32),
    )


class VnodeFile(Structure):
    """`struct vnode_fdinfowithpath`."""

    _fields_ = (("file", FileInfo), ("vnode", VnodePath))


class PipeFile(Structure):
    """`struct pipe_fdinfo`."""

    _fields_ = (
        ("file", FileInfo),
        ("stat", Stat),
        ("handle", c_uint64),
        ("peerhandle", c_uint64),
        ("status", c_int32),
        ("rfu", c_int32),
    )


class InetInfo(Structure):
    """`struct in_sockinfo`."""

    _fields_ = (
        ("fport", c_int32),
        ("lport", c_int32),
        ("gencnt", c_uint64),
        ("flags", c_uint32),
        ("flow", c_uint32),
        ("vflag", c_uint8),
        ("ttl", c_uint8),
        ("rfu", c_uint32),
        ("faddr", c_uint8 * 16),
        ("laddr", c_uint8 * 16),
        ("v4_tos", c_uint8),
        ("v6_hlim", c_uint8),
        ("v6_cksum", c_int32),
        ("v6_ifindex", c_uint16),
        ("v6_hops", c_uint16),
    )


class TcpInfo(Structure):
    """`struct tcp_sockinfo`."""

    _fields_ = (
        ("ini", InetInfo),
        ("state", c_int32),
        ("timer", c_int32 * 4),
        ("mss", c_int32),
        ("flags", c_uint32),
        ("rfu", c_uint32),
        ("tp", c_uint64),
    )


class BufferInfo(Structure):
    """`struct sockbuf_info`."""

    _fields_ = (
        *((name, c_uint32) for name in ("cc", "hiwat", "mbcnt", "mbmax", "lowat")),
        ("flags", c_uint16),
        ("timeo", c_uint16),
    )


class SocketFile(Structure):
    """`struct socket_fdinfo`; the last member is a union of 528 bytes."""

    _fields_ = (
        ("file", FileInfo),
        ("stat", Stat),
        ("so", c_uint64),
        ("pcb", c_uint64),
        ("type", c_int32),
        ("protocol", c_int32),
        ("family", c_int32),
        *((name, c_uint16) for name in ("options", "linger", "state", "qlen", "incqlen")),
        *((name, c_uint16) for name in ("qlimit", "timeo", "error")),
        ("oobmark", c_uint32),
        ("rcv", BufferInfo),
        ("snd", BufferInfo),
        ("kind", c_int32),
        ("rfu", c_uint32),
        ("tcp", TcpInfo),
        ("union", c_uint8 * (528 - ctypes.sizeof(TcpInfo))),
    )
