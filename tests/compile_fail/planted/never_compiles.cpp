// expect: no matter what
int* planted = 1.0;
