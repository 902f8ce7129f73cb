"""What a sentence tells an agent to do: cut text into sentences, tag their words, match combinations of meanings."""
