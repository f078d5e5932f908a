// 2^x of a vector. Included once per instruction set.

#if defined(LIBRA_HOST_EXP2_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef LIBRA_HOST_EXP2_INL
#undef LIBRA_HOST_EXP2_INL
#else
#define LIBRA_HOST_EXP2_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// 2^x with a relative error below 2e-7, exactly 1 at 0, and 0 below -125. Pre: `x < 127`, or not a number.
///
/// Source: a polynomial of degree 5 with the least largest relative error over [-0.5, 0.5], constant term 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2(D d, V x) {
  hn::RebindToSigned<D> const di;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the mantissa.
  V const shift = hn::Set(d, 12582912.0F);
  V const rounded = hn::Add(x, shift);
  V const f = hn::Sub(x, hn::Sub(rounded, shift));
  V p = hn::Set(d, 0.001326472731307149F);
  p = hn::MulAdd(p, f, hn::Set(d, 0.009671512991189957F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.05550733581185341F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.24022242426872253F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.6931470036506653F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  auto const exponent = hn::ShiftLeft<23>(hn::BitCast(di, rounded));
  V const result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  // Not the other way round: a comparison with NaN is false, and NaN must come out as NaN.
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -125.0F)), result);
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
