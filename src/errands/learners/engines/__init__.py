"""Learners with tables: QRM, CRM, HRM, QCoRM and QCoRM+ on finite worlds."""
