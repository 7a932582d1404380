// A shared object that is no substrate: it lacks the entry point its file name promises.
extern "C" int substrata_entry_something_else() { return 0; }
