"""The stages of the job: plain functions and classes that know no engine."""
