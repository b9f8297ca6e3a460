"""Scratch databases whose ledgers are charged and read by many: what each account has spent, and who is answered."""
