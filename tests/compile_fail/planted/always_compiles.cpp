// expect: no matter what
int planted = LIBRA_FAIL;
