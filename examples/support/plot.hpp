#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace plot {

struct line {
  std::string name;
  std::string style;  ///< SVG attributes of its stroke
  std::vector<double> values;
};
struct bar {
  std::string name;
  std::string colour;
  double value{};
};

/// Where a panel's axes are: pixels from the left and the top.
struct frame {
  double left, top, right, bottom;
};

/// 1, 2 or 5 times a power of ten, so that about five of them make `range`.
inline double tick_step(double range) {
  double const power = std::pow(10.0, std::floor(std::log10(range / 5)));
  double const times = range / 5 / power;
  return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

/// Two panels side by side in one SVG: lines over steps, and bars from zero.
class svg {
 public:
  svg() { out_ << std::setprecision(4); }

  void lines(std::string const& title, std::string const& x_axis, std::vector<line> const& all) {
    frame const f{60, 50, 520, 330};
    double low = std::numeric_limits<double>::max();
    double high = std::numeric_limits<double>::lowest();
    std::size_t count = 2;
    for (line const& l : all) {
      for (double const value : l.values) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
      count = std::max(count, l.values.size());
    }
    double const step = tick_step(std::max(high - low, 1e-9));
    low = std::floor(low / step) * step;
    high = std::max(std::ceil(high / step), low / step + 1) * step;
    auto const x = [&](double i) { return f.left + (f.right - f.left) * (i - 1) / static_cast<double>(count - 1); };
    auto const y = [&](double v) { return f.bottom - (f.bottom - f.top) * (v - low) / (high - low); };
    axes(f, title, low, high, step, y);
    double const every = std::max(1.0, tick_step(static_cast<double>(count)));
    for (double i = every; i <= static_cast<double>(count); i += every) text(x(i), f.bottom + 16, "middle", i);
    text((f.left + f.right) / 2, f.bottom + 34, "middle", x_axis);
    double legend = f.top + 14;
    for (line const& l : all) {
      out_ << "<polyline fill='none' " << l.style << " points='";
      for (std::size_t i = 0; i < l.values.size(); ++i) {
        out_ << x(static_cast<double>(i + 1)) << ',' << y(l.values[i]) << ' ';
      }
      out_ << "'/>\n<path fill='none' " << l.style << " d='M" << f.right - 130 << ' ' << legend - 4 << "h30'/>\n";
      text(f.right - 92, legend, "start", l.name);
      legend += 20;
    }
  }

  void bars(std::string const& title, std::vector<bar> const& all) {
    frame const f{620, 50, 860, 330};
    double high = 1e-9;
    for (bar const& b : all) high = std::max(high, b.value);
    double const step = tick_step(high);
    high = std::ceil(high * 1.08 / step) * step;
    auto const y = [&](double v) { return f.bottom - (f.bottom - f.top) * v / high; };
    axes(f, title, 0, high, step, y);
    double const wide = (f.right - f.left) / static_cast<double>(all.size());
    double left = f.left + wide / 4;
    for (bar const& b : all) {
      out_ << "<rect x='" << left << "' y='" << y(b.value) << "' width='" << wide / 2 << "' height='"
           << f.bottom - y(b.value) << "' fill='" << b.colour << "'/>\n";
      text(left + wide / 4, y(b.value) - 6, "middle", b.value);
      text(left + wide / 4, f.bottom + 16, "middle", b.name);
      left += wide;
    }
  }

  void write(std::string const& path) const {
    std::ofstream(path) << "<svg xmlns='http://www.w3.org/2000/svg' width='900' height='380' font-family='sans-serif' "
                           "font-size='12'>\n<rect width='900' height='380' fill='white'/>\n"
                        << out_.str() << "</svg>\n";
  }

 private:
  template <class Y>
  void axes(frame const& f, std::string const& title, double low, double high, double step, Y y) {
    text(f.left - 30, f.top - 22, "start", title, " font-weight='bold'");
    for (int i = 0; low + step * i <= high + step / 2; ++i) {
      double const tick = low + step * i;
      out_ << "<path d='M" << f.left << ' ' << y(tick) << 'H' << f.right << "' stroke='#ddd'/>\n";
      text(f.left - 6, y(tick) + 4, "end", std::abs(tick) < step / 2 ? 0.0 : tick);
    }
    out_ << "<path d='M" << f.left << ' ' << f.top << 'V' << f.bottom << 'H' << f.right
         << "' fill='none' stroke='black'/>\n";
  }
  template <class Value>
  void text(double x, double y, char const* anchor, Value const& value, char const* style = "") {
    out_ << "<text x='" << x << "' y='" << y << "' text-anchor='" << anchor << "'" << style << '>' << value
         << "</text>\n";
  }

  std::ostringstream out_;
};

}  // namespace plot
