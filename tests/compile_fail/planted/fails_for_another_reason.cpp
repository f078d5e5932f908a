// expect: a text that is not in the message
#if LIBRA_FAIL
int* planted = 1.0;
#endif
int planted_too = 0;
