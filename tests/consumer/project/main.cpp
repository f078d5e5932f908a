#include <libra/host/instruction_set.hpp>

int main() { return libra::host::instruction_set().empty() ? 1 : 0; }
