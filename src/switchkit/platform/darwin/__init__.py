"""macOS: each noun of the platform by documented calls. Written without a Mac: see `docs`.

`calls` has what Python has no name for, `layouts` where the kernel's answers hold what. The rest
knows neither `ctypes` nor a number of the kernel.
"""
