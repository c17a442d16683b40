"""Who may connect: passwords, client certificates, and how often somebody may try."""
