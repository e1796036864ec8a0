// A target without code: the catalog beside this file says how Tributary works, for those who change it. Pages for those
// who use it are in the catalogs of the modules.
