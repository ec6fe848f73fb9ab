"""Results as JUnit XML, the format that CI systems show."""

import re
import xml.etree.ElementTree as xml

# What XML 1.0 cannot carry, and consoles are full of.
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(path, suite, results):
    """Writes `results` (dictionaries with name, seconds, failure, evidence) to `path`."""
    root = xml.Element("testsuite", {
        "name": suite, "tests": str(len(results)), "errors": "0", "skipped": "0",
        "failures": str(sum(1 for result in results if result["failure"])),
        "time": f"{sum(result['seconds'] for result in results):.1f}"})
    for result in results:
        case = xml.SubElement(root, "testcase", {"classname": suite, "name": result["name"],
                                                 "time": f"{result['seconds']:.1f}"})
        if result["failure"]:
            first = result["failure"].strip().splitlines()[0]
            failure = xml.SubElement(case, "failure", {"message": UNPRINTABLE.sub("?", first)})
            failure.text = UNPRINTABLE.sub("?", result["failure"] + "\n\n" + result["evidence"])
    tree = xml.ElementTree(root)
    xml.indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)
