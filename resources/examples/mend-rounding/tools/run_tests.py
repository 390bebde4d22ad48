"""Run the tests and write their results as JUnit XML to the file that the first argument names."""

import sys
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree


class Recorder(unittest.TextTestResult):
    """Notes the time and outcome of each test as well as printing it."""

    def startTest(self, test: unittest.TestCase) -> None:
        """Note when a test starts."""
        super().startTest(test)
        self.started = time.perf_counter()

    def stopTest(self, test: unittest.TestCase) -> None:
        """Add the test that ends to the report."""
        super().stopTest(test)
        suite, _, name = test.id().rpartition(".")
        case = ElementTree.SubElement(report, "testcase", classname=suite, name=name)
        case.set("time", f"{time.perf_counter() - self.started:.6f}")
        for kind, found in (("failure", self.failures), ("error", self.errors)):
            for failed, trace in found:
                if failed is test:
                    last = trace.strip().splitlines()[-1]
                    ElementTree.SubElement(case, kind, message=last).text = trace


report = ElementTree.Element("testsuite", name="rounding")
root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root))
tests = unittest.defaultTestLoader.discover(str(root / "tests"), top_level_dir=str(root))
result = unittest.TextTestRunner(sys.stdout, verbosity=2, resultclass=Recorder).run(tests)
for attribute, count in (
    ("tests", result.testsRun),
    ("failures", len(result.failures)),
    ("errors", len(result.errors)),
):
    report.set(attribute, str(count))
target = Path(sys.argv[1])
target.parent.mkdir(parents=True, exist_ok=True)
ElementTree.ElementTree(report).write(target, encoding="utf-8", xml_declaration=True)
sys.exit(not result.wasSuccessful())
