#!/usr/bin/env python3
"""The Python packages: PyPAPI's names, PAPI's numbers and layouts, and measuring.

python_test.py SOURCES: the project's folder. The library is that of SUBSTRATA_PAPI_LIBRARY.
"""

import ctypes
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import pypapi
import substrata
from pypapi import consts, events, exceptions, papi_high, papi_low, structs

SOURCES = pathlib.Path(sys.argv.pop())
MODULES = {"papi_low": papi_low, "papi_high": papi_high, "exceptions": exceptions, "structs": structs,
           "consts": consts, "events": events}


def rows(path):
    """The columns of a table of tests/papi/abi."""
    return [line.split("\t") for line in (SOURCES / "tests/papi/abi" / path).read_text().splitlines()]


def interface():
    """PyPAPI's public names: module, name, what it is."""
    text = (SOURCES / "tests/python/pypapi_interface.txt").read_text()
    return [line.split(" ", 2) for line in text.splitlines() if not line.startswith("#")]


class Interface(unittest.TestCase):
    def test_every_public_name_of_pypapi_is_there_with_its_parameters(self):
        for module, name, what in interface():
            with self.subTest(name=f"{module}.{name}"):
                there = getattr(MODULES[module], name)
                if what.startswith("("):
                    wanted = what.strip("()").split(", ")
                    given = ["*" + p.name if p.kind == p.VAR_POSITIONAL else p.name
                             for p in inspect.signature(there).parameters.values()]
                    if name == "write":  # PyPAPI's has no values to write and does nothing
                        wanted.append("values")
                    self.assertEqual(given, [one for one in wanted if one])
                elif what.startswith("class"):
                    base = what.split()[-1]
                    self.assertTrue(issubclass(there, getattr(MODULES[module], base, object)))
                elif what == "value":
                    self.assertIsInstance(there, int)

    def test_no_module_has_a_public_function_or_class_that_pypapi_lacks(self):
        known = {(module, name) for module, name, _ in interface()}
        for name, module in MODULES.items():
            for own, thing in vars(module).items():
                if getattr(thing, "__module__", None) == module.__name__ and not own.startswith("_"):
                    self.assertIn((name, own), known)

    def test_every_constant_and_event_has_the_number_of_the_header(self):
        numbers = {row[1]: int(row[2]) for row in rows("consts-7.3.tsv")}
        checked = 0
        for module in (consts, events):
            for name, value in vars(module).items():
                if name.startswith("PAPI_"):
                    self.assertEqual(value, numbers[name], name)
                    checked += 1
        self.assertGreater(checked, 160)
        presets = {name for name, value in numbers.items() if -2**31 <= value < numbers["PAPI_END"]
                   and name.startswith("PAPI_") and name not in ("PAPI_PRESET_MASK", "PAPI_DOM_HWSPEC")}
        self.assertEqual(presets - set(vars(events)), set())

    def test_every_structure_has_the_offsets_of_the_header(self):
        kinds = {kind._structure_.__name__: kind._structure_ for kind in vars(structs).values()
                 if inspect.isclass(kind) and "_structure_" in vars(kind)}
        kinds["PAPI_component_info_t"] = kinds.pop("_Component")
        checked = set()
        for name, field, first, second in (row[:4] for row in rows("layout-7.3.tsv")):
            if name not in kinds:
                continue
            if field == "-":
                self.assertEqual(ctypes.sizeof(kinds[name]), int(first), name)
                checked.add(name)
            elif hasattr(kinds[name], field) and getattr(kinds[name], field).size < 1 << 16:
                self.assertEqual(getattr(kinds[name], field).offset, int(first), f"{name}.{field}")
        self.assertEqual(checked, set(kinds))


def counts(event):
    """Whether an event counts here."""
    try:
        with substrata.measure(event):
            return True
    except substrata.PapiError:
        return False


class Measuring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        papi_low.library_init()

    def test_a_set_counts_from_start_to_stop(self):
        handle = papi_low.create_eventset()
        papi_low.add_named_event(handle, "example:::ticks")
        code = papi_low.event_name_to_code("example:::ticks")
        self.assertEqual(papi_low.list_events(handle), [code])
        self.assertEqual(papi_low.event_code_to_name(code), "example:::ticks")
        self.assertEqual(papi_low.num_events(handle), 1)
        papi_low.start(handle)
        self.assertTrue(papi_low.state(handle) & consts.PAPI_RUNNING)
        first, second = papi_low.read(handle), papi_low.read(handle)
        self.assertEqual(second[0], first[0] + 1)
        self.assertGreater(papi_low.accum(handle, [1000])[0], 1000)
        self.assertEqual(len(papi_low.stop(handle)), 1)
        papi_low.cleanup_eventset(handle)
        papi_low.destroy_eventset(handle)

    def test_a_refusal_raises_the_exception_of_its_error_with_the_reason(self):
        with self.assertRaisesRegex(exceptions.PapiNoEventSetError, "PAPI_ENOEVST"):
            papi_low.start(9999)
        with self.assertRaisesRegex(exceptions.PapiNoEventError, "tocks"):
            papi_low.event_name_to_code("example:::tocks")
        with self.assertRaises(exceptions.PapiInvalidValueError):
            handle = papi_low.create_eventset()
            papi_low.add_named_event(handle, "example:::ticks")
            papi_low.accum(handle, [1, 2])

    def test_structures_outlive_the_library_s(self):
        machine = papi_low.get_hardware_info()
        self.assertEqual(machine.totalcpus, os.cpu_count())
        self.assertEqual(machine.mem_hierarchy.levels, len([level for level in machine.mem_hierarchy.level
                                                            if level.cache[0].size]))
        info = papi_low.get_event_info(papi_low.event_name_to_code("example:::ticks"))
        self.assertEqual(info.symbol, "example:::ticks")
        component = papi_low.get_component_info(info.component_index)
        self.assertEqual((component.name, component.disabled), ("example", 0))
        self.assertIsNone(papi_low.get_component_info(9999))
        self.assertTrue(papi_low.get_executable_info().address_info.text_start.addr)
        self.assertTrue(any("libpapi" in one.name for one in papi_low.get_shared_lib_info().map))
        self.assertGreater(papi_low.get_dmem_info().resident, 0)
        self.assertIn(info.symbol, [one.symbol for one in
                                    papi_low.enum_cmp_event(info.component_index)["native"]])

    def test_measure_counts_events_of_several_components_at_once(self):
        other = next((name for name in ("net:::lo:rx:packets", "perf::TASK-CLOCK") if counts(name)), None)
        if other is None:
            self.skipTest("neither the loopback device nor the task clock counts here")
        with substrata.measure("example:::ticks", other) as counted:
            before = counted.read()
        self.assertEqual(list(counted.values), ["example:::ticks", other])
        self.assertGreater(counted.values["example:::ticks"], before["example:::ticks"] - 1)
        self.assertGreater(counted.seconds, 0)

    def test_measure_reads_floating_point_as_such(self):
        name = next((one.symbol for index in range(papi_low.num_components())
                     for one in papi_low.enum_cmp_event(index)["native"] if one.data_type == 2), None)
        if name is None:
            self.skipTest("no event here counts in floating point")
        with substrata.measure(name) as counted:
            pass
        self.assertIsInstance(counted.values[name], float)

    def test_measure_of_an_unknown_event_leaves_nothing_running(self):
        for _ in range(3):
            with self.assertRaises(substrata.PapiError):
                with substrata.measure("example:::ticks", "example:::tocks"):
                    self.fail("the body ran")
        with substrata.measure("example:::ticks") as counted:
            pass
        self.assertIn("example:::ticks", counted.values)

    def test_an_exception_in_the_body_passes_and_the_counts_are_there(self):
        counted = substrata.measure("example:::ticks")
        with self.assertRaises(ZeroDivisionError):
            with counted:
                1 / 0
        self.assertIn("example:::ticks", counted.values)


class Programs(unittest.TestCase):
    def run_program(self, text, folder, **settings):
        return subprocess.run([sys.executable, "-B", "-c", text], cwd=folder, text=True, capture_output=True,
                              env={**os.environ, **settings}, check=False)

    def test_a_region_is_in_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = self.run_program("import substrata\n"
                                   "@substrata.region('solve')\n"
                                   "def work(): pass\n"
                                   "for _ in range(3): work()\n"
                                   "with substrata.region('write'): pass\n", folder, PAPI_EVENTS="example:::ticks")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            reports = [path.read_text() for path in pathlib.Path(folder).glob("papi_hl_output/**/*.json")]
            self.assertEqual(len(reports), 1)
            self.assertIn('"solve"', reports[0])
            self.assertIn('"write"', reports[0])

    def test_pip_installs_both_packages(self):
        asked = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('pip', 'setuptools', 'wheel'))))"
        python = next((one for one in (sys.executable, "/usr/bin/python3") if pathlib.Path(one).exists() and
                       subprocess.run([one, "-c", asked], check=False).returncode == 0), None)
        if python is None:
            self.skipTest("pip, setuptools or wheel is missing")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCES / "src/python", folder + "/source")
            made = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                                   "--no-build-isolation", "--target", folder + "/site", folder + "/source"],
                                  text=True, capture_output=True, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            ran = self.run_program("import pypapi, substrata; print(pypapi.__file__, substrata.__file__)", folder,
                                   PYTHONPATH=folder + "/site")
            self.assertEqual(ran.stdout.split(), [f"{folder}/site/pypapi/__init__.py",
                                                  f"{folder}/site/substrata/__init__.py"], ran.stderr)

    def test_a_missing_library_names_the_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCES / "src/python/pypapi", folder + "/a/b/c/d/pypapi")
            settings = {name: value for name, value in os.environ.items()
                        if name not in ("SUBSTRATA_PAPI_LIBRARY", "LD_LIBRARY_PATH")}
            ran = subprocess.run([sys.executable, "-B", "-c", "import pypapi"], text=True, capture_output=True,
                                 check=False, env={**settings, "PYTHONPATH": folder + "/a/b/c/d"})
            if ran.returncode == 0:
                self.skipTest("the system's loader finds a libpapi.so.7.3")
            self.assertIn("SUBSTRATA_PAPI_LIBRARY", ran.stderr)


if __name__ == "__main__":
    assert pypapi.__all__
    unittest.main()
