"""Baselines: the CPU time of some flows' work when it is written in Python with lxml, without a flow."""

from collections.abc import Callable

from lxml import etree

from heliograph.lab.flows.models import FIELDS, PADDING

Work = Callable[[bytes], bytes]


def parse_and_write(data: bytes) -> bytes:
    """Nothing but reading the document and writing it again."""
    return etree.tostring(etree.fromstring(data))


def simple_change(data: bytes) -> bytes:
    """Another value in one field."""
    root = etree.fromstring(data)
    field = root.find("A1")
    assert field is not None
    field.text = "x"
    return etree.tostring(root)


def complex_loop(data: bytes) -> bytes:
    """A second list, made from the first."""
    root = etree.fromstring(data)
    test_case = root.find("TestCase")
    assert test_case is not None
    target = etree.SubElement(test_case, "ProcessingPath")
    for entry in test_case.iterfind("Stack/ProcessingPath/Element"):
        component = etree.SubElement(target, "Component")
        etree.SubElement(component, "Name").text = entry.findtext("COMPONENT")
        transport = etree.SubElement(component, "Transport", Type="A")
        etree.SubElement(transport, "Queue").text = entry.findtext("QUEUE")
    return etree.tostring(root)


def nested_select(data: bytes) -> bytes:
    """Statements made from invoices."""
    root = etree.Element("CSIM")
    target = etree.SubElement(root, "Data")
    for invoice in etree.fromstring(data).iterfind("Data/Invoice"):
        if invoice.findtext("Surname") != "Shop":
            _statement(target, invoice)
    return etree.tostring(root)


def _statement(target: etree._Element, invoice: etree._Element) -> None:
    statement = etree.SubElement(target, "Statement", Type="Monthly", Style="Full")
    customer = etree.SubElement(statement, "Customer")
    etree.SubElement(customer, "Initials").text = "".join(
        initial.text or "" for initial in invoice.findall("Initial")[:2]
    )
    etree.SubElement(customer, "Name").text = invoice.findtext("Surname")
    etree.SubElement(customer, "Balance").text = invoice.findtext("Balance")
    purchases = etree.SubElement(statement, "Purchases")
    amount = 0.0
    for item in invoice.iterfind("Item"):
        price, quantity = float(item.findtext("Price") or 0), item.findtext("Quantity")
        amount += price * float(quantity or 0) * 1.6
        if price > 0:
            article = etree.SubElement(purchases, "Article")
            etree.SubElement(article, "Desc").text = item.findtext("Description")
            etree.SubElement(article, "Cost").text = str(price * 1.6)
            etree.SubElement(article, "Qty").text = quantity
    etree.SubElement(statement, "Amount", Currency="Dollars").text = str(amount)


def reorder(data: bytes) -> bytes:
    """A new document with the same fields in another order."""
    source = etree.fromstring(data)
    root = etree.Element("Record")
    for name in [*reversed(FIELDS), PADDING]:
        etree.SubElement(root, name).text = source.findtext(name)
    return etree.tostring(root)


SAME_WORK: dict[str, Work] = {
    "10.3.1": simple_change,
    "10.3.2": complex_loop,
    "10.3.5": nested_select,
    "10.8.1.1": reorder,
}
"""By section of the report."""
