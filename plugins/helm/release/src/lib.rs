//! Release records, history and the plan of install, upgrade, rollback and uninstall. Pure.
