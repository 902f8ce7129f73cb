"""What we look for, as data: rules, tables, tiers, rubric. No Python logic lives here."""
