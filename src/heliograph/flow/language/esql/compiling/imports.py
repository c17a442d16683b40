"""Names that generated code may use, and the modules they come from."""

from collections.abc import Mapping

_ESQL = "heliograph.flow.language.esql"
_VALUES = "heliograph.flow.language.values"

_MODULES: Mapping[str, str] = {
    f"{_ESQL}.runtime.paths": """
        ABSENT ensure ensure_match ensure_match_last ensure_nth every find last last_child match match_every match_last
        name_of nth siblings type_number
    """,
    f"{_ESQL}.runtime.assigning": """
        Fields copy_field copy_here copy_match copy_named copy_nth
        set_aspect set_copies set_field set_here set_match set_nth set_rows set_values
    """,
    f"{_ESQL}.runtime.references": "Reference attach delete detach put reference relative",
    f"{_ESQL}.runtime.fields": "field_name field_namespace field_type field_value same_field",
    f"{_ESQL}.runtime.rows": "equal_lists equal_rows first_value negated row_item scalar_of the values_of",
    f"{_ESQL}.runtime.selecting": "copy_of count greatest insert_fields smallest total",
    f"{_ESQL}.runtime.bitstreams": "as_bit_stream new_field parse",
    f"{_ESQL}.runtime.signals": "FAILURES caught log state_like thrown",
    f"{_ESQL}.runtime.databases": "call change commit passthru query quoted rollback",
    f"{_ESQL}.runtime.sending": "label_of send terminal_of",
    f"{_ESQL}.runtime.variables": "Variables external truth",
    f"{_ESQL}.runtime.evaluating": "evaluate run_text",
    f"{_VALUES}.arithmetic": "add concatenate divide multiply negate subtract",
    f"{_VALUES}.bits": "Bits",
    f"{_VALUES}.casts": "cast",
    f"{_VALUES}.comparison": """
        between between_symmetric equal greater greater_or_equal in_ is_inf is_nan is_num less less_or_equal like
        not_equal
    """,
    f"{_VALUES}.conversions": "convert",
    f"{_VALUES}.intervals": "Qualifier",
    f"{_VALUES}.datetime_arithmetic": "difference",
    f"{_VALUES}.literals": "to_date to_gmttime to_gmttimestamp to_interval to_time to_timestamp",
    f"{_VALUES}.logic": "is_false is_true is_unknown not_",
    f"{_VALUES}.types": "Type",
    f"{_VALUES}.functions": "CURRENT FUNCTIONS",
    f"{_ESQL}.runtime.jumps": "jump",
    "heliograph.flow.tree": "Element Step",
    "heliograph.errors": "Problem",
    "decimal": "Decimal",
}

MODULE_OF: Mapping[str, str] = {name: module for module, names in _MODULES.items() for name in names.split()}
"""Names by themselves, with the module that has them."""


def import_lines(names: set[str]) -> list[str]:
    """The import statements for these names."""
    by_module: dict[str, list[str]] = {}
    for name in sorted(names):
        by_module.setdefault(MODULE_OF[name], []).append(name)
    return [f"from {module} import {', '.join(by_module[module])}" for module in sorted(by_module)]
