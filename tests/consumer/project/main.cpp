#include <libra/version.hpp>

int main() { return libra::version.empty() ? 1 : 0; }
