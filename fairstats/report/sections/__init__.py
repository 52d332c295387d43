"""One function per method: AuditInput → list of results."""
