"""The run-time library of compiled ESQL.

- `evaluation`: the trees and services that one run works on. `compiled_program`: a program that can be run.
- All others: functions that generated code calls, for what is the same in every program. They take None for NULL and
  for fields that do not exist, and never raise anything for those unless ESQL says so.
"""
