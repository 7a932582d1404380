"""Reads the recordings of `substrata record`, over the C interface substrata/recording.h. Nothing is compiled.

    import substrata_recording
    recording = substrata_recording.open("run.sub")
    for series in recording.series:
        print(series.name, series.unit, "modelled" if series.modelled else "measured", len(series.samples()))
    rates = recording.frame(rates=True)   # a pandas DataFrame, where pandas is installed
    passes = recording.regions_frame()

The library is found by SUBSTRATA_RECORDING_LIBRARY (a file), else beside this module's installation or in the build
tree, else where the loader looks.
"""

import ctypes
import os
import pathlib


class _Series(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + \
        [(name, ctypes.c_char_p) for name in ("name", "unit", "text", "component", "scope")] + \
        [(name, ctypes.c_size_t) for name in ("writer", "samples")] + \
        [(name, ctypes.c_int32) for name in ("kind", "modelled", "scaled", "rank")]


class _Region(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("begin", ctypes.c_double),
                ("end", ctypes.c_double), ("writer", ctypes.c_size_t)] + \
        [(name, ctypes.c_int32) for name in ("rank", "depth", "open", "reserved")]


def _load():
    name = "libsubstrata_recording.so"
    chosen = os.environ.get("SUBSTRATA_RECORDING_LIBRARY")
    if chosen:
        return ctypes.CDLL(chosen)
    here = pathlib.Path(__file__).resolve().parent
    for root in here.parents[:3]:  # the build tree, or the prefix above share/substrata/python
        for found in sorted(root.glob("lib/" + name)) + sorted(root.glob("lib/*/" + name)):
            return ctypes.CDLL(str(found))
    return ctypes.CDLL(name + ".0")


def _declared(library):
    handle, number = ctypes.c_void_p, ctypes.c_size_t
    doubles = ctypes.POINTER(ctypes.c_double)
    for name, result, arguments in (
            ("open", handle, [ctypes.POINTER(ctypes.c_char_p), number, ctypes.c_char_p, number]),
            ("close", None, [handle]),
            ("seconds", ctypes.c_double, [handle]),
            ("start", ctypes.c_int64, [handle]),
            ("problem", ctypes.c_char_p, [handle, number]),
            ("overhead", ctypes.c_char_p, [handle]),
            ("writers", number, [handle]),
            ("property", ctypes.c_char_p, [handle, number, ctypes.c_char_p]),
            ("series_count", number, [handle]),
            ("series_at", ctypes.c_int, [handle, number, ctypes.POINTER(_Series)]),
            ("samples", number, [handle, number, doubles, doubles, number]),
            ("region_count", number, [handle]),
            ("region_at", ctypes.c_int, [handle, number, ctypes.POINTER(_Region)])):
        function = getattr(library, "substrata_recording_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = None


def _text(raw):
    return None if raw is None else raw.decode("utf-8", "replace")


class Series:
    """One series of one writer: name, unit, text, component, scope, writer, kind ("count", "gauge" or "bin"), modelled,
    scaled, rank (None outside of MPI)."""

    def __init__(self, recording, index):
        raw = _Series(struct_size=ctypes.sizeof(_Series))
        if _library.substrata_recording_series_at(recording._handle, index, ctypes.byref(raw)) != 0:
            raise IndexError(index)
        self._recording, self._index = recording, index
        for name in ("name", "unit", "text", "component", "scope"):
            setattr(self, name, _text(getattr(raw, name)))
        self.writer = raw.writer
        self.kind = ("count", "gauge", "bin")[raw.kind]
        self.modelled, self.scaled = bool(raw.modelled), bool(raw.scaled)
        self.rank = raw.rank if raw.rank >= 0 else None
        self._samples = raw.samples

    def __repr__(self):
        rank = "" if self.rank is None else f", rank {self.rank}"
        origin = "modelled" if self.modelled else "measured"
        return f"<{origin} {self.kind} {self.name} [{self.unit or '1'}]{rank}, {self._samples} samples>"

    def samples(self):
        """[(seconds since the start, value)]; a count's values are since its start."""
        if self._recording._handle is None:
            raise ValueError("the recording is closed")
        seconds, values = (ctypes.c_double * self._samples)(), (ctypes.c_double * self._samples)()
        _library.substrata_recording_samples(self._recording._handle, self._index, seconds, values, self._samples)
        return list(zip(seconds, values))

    def rates(self):
        """Of a count: [(begin, end, amount a second)] between neighbouring samples. Samples that follow another
        one by less than half of the usual interval, because the sampler came late to that one, are left out."""
        points = self.samples()
        widths = sorted(b - a for (a, _), (b, _) in zip(points, points[1:]))
        least = widths[len(widths) // 2] / 2 if widths else 0
        kept = points[:1]
        for point in points[1:]:
            if point[0] - kept[-1][0] >= least and point[0] > kept[-1][0]:
                kept.append(point)
        return [(a, b, (y - x) / (b - a)) for (a, x), (b, y) in zip(kept, kept[1:])]


class Region:
    """One pass of a region: name, begin and end in seconds, writer, rank (None: of all), depth, open (its end is not in
    the recording)."""

    def __init__(self, recording, index):
        raw = _Region(struct_size=ctypes.sizeof(_Region))
        if _library.substrata_recording_region_at(recording._handle, index, ctypes.byref(raw)) != 0:
            raise IndexError(index)
        self.name, self.begin, self.end, self.writer = _text(raw.name), raw.begin, raw.end, raw.writer
        self.rank = raw.rank if raw.rank >= 0 else None
        self.depth, self.open = raw.depth, bool(raw.open)

    def __repr__(self):
        rank = "" if self.rank is None else f", rank {self.rank}"
        return f"<region {self.name}{rank}: {self.begin:.6g} to {self.end:.6g} s{', not ended' if self.open else ''}>"


class Recording:
    """Files of `substrata record` as one: seconds, start (nanoseconds since 1970), series, regions, problems,
    overhead."""

    def __init__(self, paths):
        global _library
        self._handle = None
        if _library is None:
            _library = _declared(_load())
        names = (ctypes.c_char_p * len(paths))(*[os.fsencode(path) for path in paths])
        why = ctypes.create_string_buffer(1024)
        self._handle = _library.substrata_recording_open(names, len(paths), why, len(why))
        if not self._handle:
            self._handle = None
            raise OSError(_text(why.value))
        self.seconds = _library.substrata_recording_seconds(self._handle)
        self.start = _library.substrata_recording_start(self._handle)
        self.overhead = _text(_library.substrata_recording_overhead(self._handle))
        self.writers = _library.substrata_recording_writers(self._handle)
        self.problems = []
        while (problem := _library.substrata_recording_problem(self._handle, len(self.problems))) is not None:
            self.problems.append(_text(problem))
        self.series = [Series(self, i) for i in range(_library.substrata_recording_series_count(self._handle))]
        self.regions = [Region(self, i) for i in range(_library.substrata_recording_region_count(self._handle))]

    def property(self, name, writer=0):
        """What a writer says of itself: "host", "command", ...; None when it does not."""
        if self._handle is None:
            raise ValueError("the recording is closed")
        return _text(_library.substrata_recording_property(self._handle, writer, name.encode()))

    def __repr__(self):
        return f"<recording of {self.seconds:.6g} s: {self.writers} writers, {len(self.series)} series, " \
            f"{len(self.regions)} passes of regions>"

    def _columns(self):
        """A name for each series: its own; where several have it, with the rank or the writer."""
        names = [series.name for series in self.series]
        for i, series in enumerate(self.series):
            if sum(other.name == series.name for other in self.series) > 1:
                names[i] += f" (writer {series.writer})" if series.rank is None else f" (rank {series.rank})"
        return names

    def frame(self, rates=False):
        """A pandas DataFrame with a column for each series and the seconds since the start as its index; NaN where a
        series has no sample at that time. Counts are since their start, or, with `rates`, what they were a second in
        the interval that ends there. frame.attrs has "unit" and "modelled" by column."""
        import pandas

        columns, names = {}, self._columns()
        for name, series in zip(names, self.series):
            points = series.samples()
            if rates and series.kind != "gauge":
                points = [(end, rate) for _, end, rate in series.rates()]
            columns[name] = pandas.Series(dict(points), dtype=float)  # of two at one time the later one
        out = pandas.DataFrame(columns, columns=names).sort_index()
        out.index.name = "seconds"
        per_second = [rates and series.kind != "gauge" for series in self.series]
        out.attrs["unit"] = {name: series.unit + ("/s" if per else "")
                             for name, series, per in zip(names, self.series, per_second)}
        out.attrs["modelled"] = {name: series.modelled for name, series in zip(names, self.series)}
        return out

    def regions_frame(self):
        """A pandas DataFrame with a row for each pass of a region."""
        import pandas

        kept = ("name", "begin", "end", "rank", "writer", "depth", "open")
        rows = [[getattr(region, name) for name in kept] for region in self.regions]
        out = pandas.DataFrame(rows, columns=list(kept))
        out.insert(3, "seconds", out["end"] - out["begin"])
        return out

    def close(self):
        if self._handle is not None:
            _library.substrata_recording_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


def open(*paths):
    """Opens recordings; those of several nodes become one on a common clock. OSError with the reason when that fails."""
    return Recording(paths)
