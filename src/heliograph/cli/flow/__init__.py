"""Write, check, draw, test, run and measure message flows: folders with a flow.yaml, ESQL, models and test cases."""
