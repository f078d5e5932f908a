#pragma once

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::test {

/// Runs a pool's programs on real arrays whose elements are tags instead of numbers, with the ranks' queues interleaved
/// at random: an independent judge of programs and of the verifier, which it shares no code with.
///
/// Every four bytes of a workspace and every (row, head) at home is one word. An element's word says what it is
/// (tensor, segment, token, head); dk and dv are sums of words that say which query row and head contributed to which
/// key. Memory starts as garbage. A program is right when no wrong word is ever used and all results are at home in the
/// end.
class tag_machine {
 public:
  tag_machine(pool_batch const& batch, pool_program const& programs, std::uint64_t seed)
      : batch_(batch),
        programs_(programs),
        bits_(seed) {}

  /// Every word of the ranks' workspaces. Shape: `[ranks, workspace_bytes / 4]`.
  using workspaces = std::vector<std::vector<std::uint64_t>>;

  /// What lies in the workspaces after a run.
  [[nodiscard]] workspaces left() const {
    workspaces all;
    for (rank_state const& rank : ranks_) {
      all.push_back(rank.workspace);
    }
    return all;
  }
  /// Begins with what another pass left in the bytes that hold kept inputs.
  void begin_with(workspaces const& left) { left_ = left; }

  /// What went wrong, or nothing.
  [[nodiscard]] std::string run() {
    try {
      load();
      while (act()) {
      }
      check_end();
    } catch (wrong const& w) {
      return w.what;
    }
    return {};
  }

 private:
  using word = std::uint64_t;
  struct wrong {
    std::string what;
  };
  template <class... Part>
  static void expect(bool holds, Part const&... part) {
    if (!holds) {
      throw wrong{message(part...)};
    }
  }

  struct copy {
    std::size_t from{};
    std::size_t to{};
    transfer send;
    transfer receive;
  };
  /// An op of one rank's queue that has started.
  struct running {
    bool started{};
    std::size_t next_item{};
  };
  struct rank_state {
    program const* code{};
    std::array<std::vector<std::size_t>, queue_count> queues;
    std::array<std::size_t, queue_count> done{};
    std::array<running, queue_count> now{};
    std::vector<word> workspace;
    std::array<std::vector<word>, tensor_count> home;
  };

  // --- what things are called ---------------------------------------------------------------------------------------

  static word tag(tensor t, segment_id s, std::int64_t token, std::int32_t head) {
    return mix64(mix64(mix64(static_cast<word>(t) * 1000003 + static_cast<word>(s.value)) + static_cast<word>(token)) +
                 static_cast<word>(head));
  }
  /// What query row `row` of head `head` adds to a sum, before the key's own factor.
  static word share(tensor sum, segment_id s, std::int64_t row, std::int32_t head) {
    return tag(sum, s, row + (std::int64_t{1} << 40), head) | 1;
  }
  static word factor(std::int64_t key) { return mix64(static_cast<word>(key) + 77) | 1; }

  /// The keys that a row sees, by the definition of the masks.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> keys_seen_by(std::int64_t row, std::int64_t length) const {
    switch (batch_.shape.mask.kind) {
      case mask_kind::full:
        return {0, length};
      case mask_kind::window:
        return {std::max<std::int64_t>(0, row - batch_.shape.mask.width_tokens + 1), row + 1};
      case mask_kind::causal:
        break;
    }
    return {0, row + 1};
  }
  /// What is written of o, dq, dk or dv: an own tensor while something is missing.
  [[nodiscard]] static tensor written(tensor t, bool whole) {
    constexpr std::array<std::array<tensor, 2>, 4> names{{{tensor::o, tensor::o_part},
                                                          {tensor::dq, tensor::dq_part},
                                                          {tensor::dk, tensor::dk_part},
                                                          {tensor::dv, tensor::dv_part}}};
    for (auto const& [name, part] : names) {
      if (t == name && !whole) {
        return part;
      }
    }
    return t;
  }
  [[nodiscard]] static bool is_attended(tensor t) { return t == tensor::o || t == tensor::lse || t == tensor::dq; }

  /// What keys `[first, last)` make of a row of o, lse or dq.
  [[nodiscard]] word attended(tensor x, segment_id s, std::int64_t row, std::int32_t head, std::int64_t first,
                              std::int64_t last) const {
    auto const [from, to] = keys_seen_by(row, batch_.length(s));
    std::int64_t const begin = std::max(first, from);
    std::int64_t const end = std::min(last, to);
    word const keys =
        begin < end ? key_sums_[static_cast<std::size_t>(end)] - key_sums_[static_cast<std::size_t>(begin)] : 0;
    return keys * (tag(x, s, row, head) | 1);
  }

  /// The word of a complete element.
  [[nodiscard]] word complete(tensor x, segment_id s, std::int64_t token, std::int32_t head) const {
    return is_attended(x) ? attended(x, s, token, head, 0, batch_.length(s)) : tag(x, s, token, head);
  }

  /// The rows that see a key, by the definition of the masks.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> rows_that_see(std::int64_t key, std::int64_t length) const {
    switch (batch_.shape.mask.kind) {
      case mask_kind::full:
        return {0, length};
      case mask_kind::window:
        return {key, std::min(length, key + batch_.shape.mask.width_tokens)};
      case mask_kind::causal:
        break;
    }
    return {key, length};
  }

  /// The sum that rows `[first, last)` and heads add to a key.
  [[nodiscard]] word added(tensor sum, segment_id s, std::int64_t key, std::int64_t first, std::int64_t last,
                           std::int32_t head_begin, std::int32_t head_end) const {
    auto const [from, to] = rows_that_see(key, batch_.length(s));
    word total = 0;
    std::int64_t const begin = std::max(first, from);
    std::int64_t const end = std::min(last, to);
    for (std::int32_t h = head_begin; h < head_end && begin < end; ++h) {
      std::vector<word> const& sums = prefix_[sum == tensor::dk ? 0 : 1][prefix_index(s, h)];
      total += sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(begin)];
    }
    return total * factor(key);
  }
  [[nodiscard]] std::size_t prefix_index(segment_id s, std::int32_t h) const {
    return s.index() * static_cast<std::size_t>(batch_.shape.q_heads) + static_cast<std::size_t>(h);
  }

  [[nodiscard]] bool backward() const { return programs_.direction == pass::backward; }
  [[nodiscard]] bool is_input(tensor t) const {
    bool const always = t == tensor::q || t == tensor::k || t == tensor::v;
    return always || (backward() && (t == tensor::o || t == tensor::lse || t == tensor::d_o));
  }

  // --- loading ------------------------------------------------------------------------------------------------------

  void load() {
    number_homes();
    std::int64_t longest = 0;
    for (placed_segment const& s : batch_.segments) {
      longest = std::max(longest, s.what.length);
    }
    for (std::int64_t key = 0; key < longest; ++key) {
      key_sums_.push_back(key_sums_.back() + mix64(static_cast<word>(key) + 12345));
    }
    expect(programs_.ranks.size() == static_cast<std::size_t>(batch_.ranks()), "number of ranks");
    for (std::size_t r = 0; r < programs_.ranks.size(); ++r) {
      rank_state& rank = ranks_.emplace_back();
      rank.code = &programs_.ranks[r];
      if (!left_.empty()) {
        // Kept bytes only: the rest of the workspace is garbage, as ever.
        rank.workspace = left_[r];
        rank.workspace.resize(
            std::min(rank.workspace.size(), static_cast<std::size_t>(programs_.ranks[r].kept_bytes / 4)));
      }
      for (std::size_t i = 0; i < rank.code->ops.size(); ++i) {
        op const& o = rank.code->ops[i];
        expect(static_cast<std::size_t>(o.on) < queue_count, "unknown queue");
        rank.queues[static_cast<std::size_t>(o.on)].push_back(i);
      }
      for (std::size_t t = 0; t < tensor_count; ++t) {
        auto const rows = static_cast<std::size_t>(home_rows_[r]);
        rank.home[t].resize(rows * static_cast<std::size_t>(heads_of(static_cast<tensor>(t), batch_.shape)));
        std::ranges::generate(rank.home[t], [&] { return bits_(); });
      }
    }
    for (std::size_t s = 0; s < batch_.segments.size(); ++s) {
      fill_inputs(segment_id(s));
      for (std::int32_t h = 0; backward() && h < batch_.shape.q_heads; ++h) {
        for (std::size_t i = 0; i < 2; ++i) {
          std::vector<word>& sums = prefix_[i].emplace_back(1);
          for (std::int64_t row = 0; row < batch_.length(segment_id(s)); ++row) {
            sums.push_back(sums.back() + share(i == 0 ? tensor::dk : tensor::dv, segment_id(s), row, h));
          }
        }
      }
    }
  }

  void fill_inputs(segment_id s) {
    for (std::int64_t token = 0; token < batch_.length(s); ++token) {
      auto const [rank, local] = home_of(s, token);
      for (std::size_t t = 0; t < tensor_count; ++t) {
        auto const x = static_cast<tensor>(t);
        for (std::int32_t h = 0; is_input(x) && h < heads_of(x, batch_.shape); ++h) {
          home_word(rank, x, local, h) = complete(x, s, token, h);
        }
      }
    }
  }

  using home = std::pair<std::size_t, std::int64_t>;

  /// Finds the rank and local row of every token, from the definition of the two kinds of shards.
  void number_homes() {
    std::int64_t const window = batch_.home.window_tokens;
    std::int32_t const cp = batch_.home.cp;
    bool const zigzag = batch_.home.kind == sharding::zigzag;
    for (std::int32_t r = 0; r < batch_.slots * cp; ++r) {
      std::int64_t const c = r % cp;
      home_rows_.push_back(zigzag ? 0 : (c + 1) * window / cp - c * window / cp);
    }
    for (placed_segment const& where : batch_.segments) {
      std::vector<home>& homes = homes_.emplace_back();
      for (std::int64_t token = 0; token < where.what.length; ++token) {
        std::int64_t const position = where.position + token;
        std::int64_t c = 0;
        while (!zigzag && (c + 1) * window / cp <= position) {
          ++c;
        }
        homes.emplace_back(static_cast<std::size_t>((where.slot.value + c * batch_.stride) % batch_.slots * cp + c),
                           position - c * window / cp);
      }
      // Under zigzag, rank c holds the c-th of 2 cp chunks and then the c-th from the end, segment after segment.
      for (std::int64_t c = 0; zigzag && c < cp; ++c) {
        auto const rank = static_cast<std::size_t>(where.slot.value * cp + c);
        for (std::int64_t const chunk : {c, 2 * cp - 1 - c}) {
          for (std::int64_t token = chunk * where.what.length / (2 * cp);
               token < (chunk + 1) * where.what.length / (2 * cp); ++token) {
            homes[static_cast<std::size_t>(token)] = {rank, home_rows_[rank]++};
          }
        }
      }
    }
  }
  [[nodiscard]] home home_of(segment_id s, std::int64_t token) const {
    return homes_[s.index()][static_cast<std::size_t>(token)];
  }

  // --- memory -------------------------------------------------------------------------------------------------------

  word& home_word(std::size_t r, tensor t, std::int64_t local, std::int32_t head) {
    std::int64_t const heads = heads_of(t, batch_.shape);
    expect(0 <= local && local < home_rows_[r] && 0 <= head && head < heads, "home row ", local, " head ", head, " of ",
           name_of(t), " on rank ", r, " is outside the shard");
    return ranks_[r].home[static_cast<std::size_t>(t)][static_cast<std::size_t>(local * heads + head)];
  }

  /// The words of one element of a workspace block.
  std::span<word> block_words(std::size_t r, region const& what, std::int64_t base, std::int64_t token,
                              std::int32_t head) {
    std::int64_t const bytes = head_row_bytes(what.what, batch_.shape, programs_.width);
    std::int64_t const at = base + ((token - what.tokens.begin) * what.heads() + head - what.head_begin) * bytes;
    expect(base >= 0 && at >= base && at + bytes <= ranks_[r].code->workspace_bytes, "byte ", at, " of rank ", r,
           " is outside the workspace");
    expect(at % 4 == 0 && bytes % 4 == 0 && at < (std::int64_t{1} << 28), "byte ", at, " is no place for a number");
    std::vector<word>& all = ranks_[r].workspace;
    while (all.size() * 4 < static_cast<std::size_t>(at + bytes)) {
      all.push_back(bits_());
    }
    return std::span(all).subspan(static_cast<std::size_t>(at / 4), static_cast<std::size_t>(bytes / 4));
  }

  [[nodiscard]] static bool is_whole_sum(tensor t) { return t == tensor::dk || t == tensor::dv; }
  [[nodiscard]] static bool is_part_of_sum(tensor t) { return t == tensor::dk_part || t == tensor::dv_part; }
  [[nodiscard]] static bool is_sum(tensor t) { return is_whole_sum(t) || is_part_of_sum(t); }
  [[nodiscard]] word all_added(tensor sum, segment_id s, std::int64_t key, std::int32_t kv_head) const {
    std::int32_t const group = batch_.shape.q_heads / batch_.shape.kv_heads;
    return added(sum, s, key, 0, batch_.length(s), kv_head * group, (kv_head + 1) * group);
  }

  /// The element's word; fails when its bytes do not belong together.
  word get(std::size_t r, region const& what, location at, std::int64_t token, std::int32_t head) {
    expect(at.at_home() || at.in_workspace(), "reads ", name_of(what.what), " from nowhere");
    if (at.at_home()) {
      return home_word(r, what.what, at.local_token() + token - what.tokens.begin, head);
    }
    std::span<word> const words = block_words(r, what, at.byte(), token, head);
    for (std::size_t i = 0; i < words.size(); ++i) {
      expect(words[i] == words[0] + (is_sum(what.what) ? 0 : i), "token ", token, " of ", name_of(what.what),
             " in the workspace of rank ", r, " is torn");
    }
    return words[0];
  }
  void put(std::size_t r, region const& what, location at, std::int64_t token, std::int32_t head, word value) {
    expect(at.at_home() || at.in_workspace(), "writes ", name_of(what.what), " to nowhere");
    if (at.at_home()) {
      expect(!is_input(what.what), "writes an input");
      home_word(r, what.what, at.local_token() + token - what.tokens.begin, head) = value;
      return;
    }
    std::span<word> const words = block_words(r, what, at.byte(), token, head);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = value + (is_sum(what.what) ? 0 : i);
    }
  }

  /// Reads an element that must be what the region says, unless it is part of a sum, which may be anything.
  word get_right(std::size_t r, region const& what, location at, std::int64_t token, std::int32_t head) {
    word const value = get(r, what, at, token, head);
    expect(is_part_of_sum(what.what) ||
               value == (is_whole_sum(what.what) ? all_added(what.what, what.segment, token, head)
                                                 : complete(what.what, what.segment, token, head)),
           "rank ", r, " uses token ", token, " head ", head, " of ", name_of(what.what), " of segment ",
           what.segment.value, " before it is there");
    return value;
  }

  template <class Visit>
  static void for_each_element(region const& what, Visit visit) {
    for (std::int64_t token = what.tokens.begin; token < what.tokens.end; ++token) {
      for (std::int32_t h = what.head_begin; h < what.head_end; ++h) {
        visit(token, h);
      }
    }
  }

  void check_region(region const& what) const {
    expect(static_cast<std::size_t>(what.what) < tensor_count, "unknown tensor");
    expect(what.segment.value >= 0 && what.segment.index() < batch_.segments.size(), "no such segment");
    expect(
        0 <= what.tokens.begin && what.tokens.begin < what.tokens.end && what.tokens.end <= batch_.length(what.segment),
        "tokens outside the segment");
    expect(
        0 <= what.head_begin && what.head_begin < what.head_end && what.head_end <= heads_of(what.what, batch_.shape),
        "heads outside the tensor");
  }

  // --- running ------------------------------------------------------------------------------------------------------

  [[nodiscard]] op const* head_of(std::size_t r, std::size_t q) const {
    rank_state const& rank = ranks_[r];
    return rank.done[q] == rank.queues[q].size() ? nullptr : &rank.code->ops[rank.queues[q][rank.done[q]]];
  }
  [[nodiscard]] bool may_start(std::size_t r, op const& o) const {
    for (std::size_t q = 0; q < queue_count; ++q) {
      bool const own = q == static_cast<std::size_t>(o.on);
      if (!own && o.after[q] > static_cast<std::int64_t>(ranks_[r].done[q])) {
        return false;
      }
    }
    return true;
  }

  /// Does one small step of some queue that can make one; false when none can.
  bool act() {
    // For a while some queues are always preferred, so that they run as far ahead of the others as they are allowed to.
    if (preference_.empty() || bits_.below(200) == 0) {
      preference_.clear();
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        for (std::size_t q = 0; q < queue_count; ++q) {
          preference_.emplace_back(r, q);
        }
      }
      libra::shuffle(std::span(preference_), bits_);
    }
    for (auto const& [r, q] : preference_) {
      if (step(r, q)) {
        return true;
      }
    }
    return false;
  }

  bool step(std::size_t r, std::size_t q) {
    op const* o = head_of(r, q);
    if (o == nullptr) {
      return false;
    }
    rank_state& rank = ranks_[r];
    if (!rank.now[q].started) {
      if (!may_start(r, *o)) {
        return false;
      }
      rank.now[q] = {.started = true, .next_item = 0};
      return true;
    }
    if (o->kind == op_kind::exchange ? !exchange(r, q, *o) : !item(r, *o, rank.now[q].next_item++)) {
      if (o->kind == op_kind::exchange && !exchanged_all(r, q, *o)) {
        return false;
      }
      rank.now[q] = {};
      ++rank.done[q];
    }
    return true;
  }

  template <class T>
  static T const* nth(std::vector<T> const& all, item_range range, std::size_t n) {
    expect(range.begin <= range.end && range.end <= all.size(), "items [", range.begin, ", ", range.end, ") of ",
           all.size());
    return n < range.size() ? &all[range.begin + n] : nullptr;
  }

  /// Does one item of a compute op; false when there are no more.
  bool item(std::size_t r, op const& o, std::size_t n) {
    program const& code = *ranks_[r].code;
    switch (o.kind) {
      case op_kind::attend:
      case op_kind::attend_backward:
        expect(backward() == (o.kind == op_kind::attend_backward), "the other pass's op");
        if (tile_task const* t = nth(code.tiles, o.items, n)) {
          attend(r, *t);
          return true;
        }
        return false;
      case op_kind::row_dot:
        if (dot_task const* t = nth(code.dots, o.items, n)) {
          dot(r, *t);
          return true;
        }
        return false;
      case op_kind::clear:
        if (region_task const* t = nth(code.clears, o.items, n)) {
          clear(r, *t);
          return true;
        }
        return false;
      case op_kind::reduce:
        if (reduce_task const* t = nth(code.reduces, o.items, n)) {
          reduce(r, *t);
          return true;
        }
        return false;
      case op_kind::exchange:
        break;
    }
    throw wrong{"an exchange is no computing"};
  }

  // --- exchange -----------------------------------------------------------------------------------------------------

  using pair_of_ends = std::tuple<std::size_t, std::int32_t, std::size_t, std::size_t>;  // queue, round, from, to

  /// The ranks that `r` has something to do with in this op.
  std::vector<std::size_t> const& peers_of(std::size_t r, op const& o) {
    auto const [found, added] = peers_.try_emplace(&o);
    std::vector<std::size_t>& peers = found->second;
    if (!added) {
      return peers;
    }
    program const& code = *ranks_[r].code;
    for (auto const& [all, range] : {std::pair(&code.sends, o.items), std::pair(&code.receives, o.receives)}) {
      for (std::size_t n = 0; transfer const* t = nth(*all, range, n); ++n) {
        expect(t->peer.value >= 0 && t->peer.index() < ranks_.size(), "peer ", t->peer.value, " is outside the pool");
        peers.push_back(t->peer.index());
      }
    }
    std::ranges::sort(peers);
    auto const rest = std::ranges::unique(peers);
    peers.erase(rest.begin(), rest.end());
    return peers;
  }

  /// The op of the round on another rank if it has started, and not finished or even begun something later.
  [[nodiscard]] op const* started_round(std::size_t r, std::size_t q, std::int32_t round) const {
    op const* o = head_of(r, q);
    return o != nullptr && o->kind == op_kind::exchange && o->round == round && ranks_[r].now[q].started ? o : nullptr;
  }

  [[nodiscard]] std::vector<copy> copies(std::size_t from, op const& source, std::size_t to, op const& target) const {
    std::vector<copy> all;
    std::vector<transfer> receives;
    for (std::size_t n = 0; transfer const* t = nth(ranks_[to].code->receives, target.receives, n); ++n) {
      if (t->peer.value >= 0 && t->peer.index() == from) {
        receives.push_back(*t);
      }
    }
    for (std::size_t n = 0; transfer const* t = nth(ranks_[from].code->sends, source.items, n); ++n) {
      if (t->peer.value >= 0 && t->peer.index() == to) {
        expect(all.size() < receives.size(), "rank ", from, " sends more to rank ", to, " than it expects");
        all.push_back({from, to, *t, receives[all.size()]});
      }
    }
    expect(all.size() == receives.size(), "rank ", to, " expects more of rank ", from, " than it sends");
    return all;
  }

  /// What one rank sends another in a round, and how much of it is done.
  struct channel {
    std::vector<copy> copies;
    std::size_t done{};
  };

  /// Copies one region whose two ends have started; false when there is none now.
  bool exchange(std::size_t r, std::size_t q, op const& o) {
    for (std::size_t const p : peers_of(r, o)) {
      op const* other = started_round(p, q, o.round);
      if (other == nullptr) {
        continue;
      }
      for (bool const sending : {true, false}) {
        pair_of_ends const ends{q, o.round, sending ? r : p, sending ? p : r};
        auto found = channels_.find(ends);
        if (found == channels_.end()) {
          std::vector<copy> all = copies(sending ? r : p, sending ? o : *other, sending ? p : r, sending ? *other : o);
          found = channels_.emplace(ends, channel{std::move(all), 0}).first;
        }
        if (found->second.done < found->second.copies.size()) {
          move(found->second.copies[found->second.done++]);
          return true;
        }
      }
    }
    return false;
  }
  [[nodiscard]] bool exchanged_all(std::size_t r, std::size_t q, op const& o) {
    auto const finished = [&](pair_of_ends const& ends) {
      auto const found = channels_.find(ends);
      return found != channels_.end() && found->second.done == found->second.copies.size();
    };
    return std::ranges::all_of(
        peers_of(r, o), [&](std::size_t p) { return finished({q, o.round, r, p}) && finished({q, o.round, p, r}); });
  }

  void move(copy const& c) {
    expect(c.send.what == c.receive.what, "rank ", c.from, " sends another region than rank ", c.to, " expects");
    region const& what = c.send.what;
    check_region(what);
    for_each_element(what, [&](std::int64_t token, std::int32_t h) {
      put(c.to, what, c.receive.at, token, h, get_right(c.from, what, c.send.at, token, h));
    });
  }

  // --- compute ------------------------------------------------------------------------------------------------------

  void attend(std::size_t r, tile_task const& t) {
    std::int32_t const group = batch_.shape.q_heads / batch_.shape.kv_heads;
    auto const rows = [&](tensor x) { return region{x, t.segment, t.head_begin, t.head_end, t.rows}; };
    check_region(rows(tensor::q));
    std::int32_t const kv = t.head_begin / group;
    expect(kv == (t.head_end - 1) / group, "heads of several key/value heads");
    auto const keys = [&](tensor x) { return region{x, t.segment, kv, kv + 1, t.keys}; };
    check_region(keys(tensor::k));
    auto const use_rows = [&](tensor x) {
      for_each_element(rows(x), [&](std::int64_t token, std::int32_t h) {
        static_cast<void>(get_right(r, rows(x), t.where(x), token, h));
      });
    };
    std::vector<bool> seen(static_cast<std::size_t>(batch_.length(t.segment)));
    for (std::size_t key = 0; key < seen.size(); ++key) {
      auto const [first, last] = rows_that_see(static_cast<std::int64_t>(key), batch_.length(t.segment));
      seen[key] = std::max(first, t.rows.begin) < std::min(last, t.rows.end);
      expect(t.part != key_part::all || !seen[key] ||
                 (t.keys.begin <= static_cast<std::int64_t>(key) && static_cast<std::int64_t>(key) < t.keys.end),
             "key ", key, " is seen but not given");
    }
    for (tensor const x : {tensor::k, tensor::v}) {
      for (std::int64_t key = t.keys.begin; key < t.keys.end; ++key) {
        // A kernel may touch the other keys of its range, too, but uses none of them.
        word const value = get(r, keys(x), t.where(x), key, kv);
        expect(!seen[static_cast<std::size_t>(key)] || value == tag(x, t.segment, key, kv), "rank ", r, " uses key ",
               key, " of segment ", t.segment.value, " before it is there");
      }
    }
    use_rows(tensor::q);
    expect(static_cast<std::size_t>(t.part) < 3, "unknown part");
    for_each_element(rows(tensor::q), [&](std::int64_t token, std::int32_t h) {
      expect(t.part != key_part::all || computed_.emplace(t.segment.value, token, h).second, "computes row ", token,
             " of segment ", t.segment.value, " head ", h, " a second time");
    });
    auto const make_rows = [&](tensor x) {
      tensor const to = written(x, t.part == key_part::all);
      for_each_element(rows(x), [&](std::int64_t token, std::int32_t h) {
        word const before = t.part == key_part::next ? get(r, rows(to), t.where(to), token, h) : 0;
        put(r, rows(to), t.where(to), token, h, before + attended(x, t.segment, token, h, t.keys.begin, t.keys.end));
      });
    };
    if (!backward()) {
      make_rows(tensor::o);
      make_rows(tensor::lse);
      return;
    }
    use_rows(tensor::d_o);
    use_rows(tensor::lse);
    use_rows(tensor::delta);
    make_rows(tensor::dq);
    for (tensor const x : {tensor::dk, tensor::dv}) {
      tensor const to = written(x, t.where(x) != location::nowhere());
      for (std::int64_t key = t.keys.begin; key < t.keys.end; ++key) {
        word const sum = get(r, keys(to), t.where(to), key, kv);
        put(r, keys(to), t.where(to), key, kv,
            sum + added(x, t.segment, key, t.rows.begin, t.rows.end, t.head_begin, t.head_end));
      }
    }
  }

  void dot(std::size_t r, dot_task const& t) {
    expect(t.what.what == tensor::delta && backward(), "row_dot makes delta");
    check_region(t.what);
    for_each_element(t.what, [&](std::int64_t token, std::int32_t h) {
      region of = t.what;
      of.what = tensor::d_o;
      static_cast<void>(get_right(r, of, t.d_o, token, h));
      of.what = t.o.at_home() ? tensor::o : written(tensor::o, false);
      expect(get(r, of, t.o, token, h) == complete(tensor::o, t.what.segment, token, h), "rank ", r, " uses token ",
             token, " head ", h, " of an output before it is there");
      put(r, t.what, t.at, token, h, tag(tensor::delta, t.what.segment, token, h));
    });
  }

  void clear(std::size_t r, region_task const& t) {
    if (t.what.segment == no_segment) {
      expect(t.at.at_home() && t.what.tokens.begin < t.what.tokens.end && t.what.head_begin < t.what.head_end,
             "padding is at home");
    } else {
      check_region(t.what);
    }
    for_each_element(t.what, [&](std::int64_t token, std::int32_t h) { put(r, t.what, t.at, token, h, 0); });
  }

  void reduce(std::size_t r, reduce_task const& t) {
    check_region(t.what);
    region part = t.what;
    part.what = written(t.what.what, false);
    expect(is_part_of_sum(t.what.what) || part.what != t.what.what, "reduces what is no sum");
    expect(t.what.what != tensor::o || t.last == t.first + 1, "adds outputs, which are no sums");
    for_each_element(t.what, [&](std::int64_t token, std::int32_t h) {
      word sum = 0;
      for (std::size_t n = 0; location const* from = nth(ranks_[r].code->partials, {t.first, t.last}, n); ++n) {
        sum += get(r, part, *from, token, h);
      }
      put(r, t.what, t.into, token, h, sum);
    });
  }

  // --- at the end ---------------------------------------------------------------------------------------------------

  void check_end() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t q = 0; q < queue_count; ++q) {
        expect(head_of(r, q) == nullptr, "rank ", r, " waits for ever on queue ", name_of(static_cast<queue>(q)));
      }
    }
    std::vector<std::vector<bool>> used;
    for (std::int64_t const rows : home_rows_) {
      used.emplace_back(static_cast<std::size_t>(rows));
    }
    for (std::size_t s = 0; s < batch_.segments.size(); ++s) {
      for (std::int64_t token = 0; token < batch_.length(segment_id(s)); ++token) {
        auto const [rank, local] = home_of(segment_id(s), token);
        used[rank][static_cast<std::size_t>(local)] = true;
        check_results(segment_id(s), token, rank, local);
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t local = 0; local < used[r].size(); ++local) {
        if (!used[r][local]) {
          check_padding(r, static_cast<std::int64_t>(local));
        }
      }
    }
  }

  void check_results(segment_id s, std::int64_t token, std::size_t rank, std::int64_t local) {
    for (std::size_t t = 0; t < tensor_count; ++t) {
      auto const x = static_cast<tensor>(t);
      for (std::int32_t h = 0; h < heads_of(x, batch_.shape); ++h) {
        word const value = home_word(rank, x, local, h);
        if (is_whole_sum(x)) {
          expect(!backward() || value == all_added(x, s, token, h), name_of(x), " of key ", token, " of segment ",
                 s.value, " is wrong");
        } else {
          bool const result = backward() ? x == tensor::dq : x == tensor::o || x == tensor::lse;
          expect((!result && !is_input(x)) || value == complete(x, s, token, h), name_of(x), " of token ", token,
                 " of segment ", s.value, " is wrong");
        }
      }
    }
  }

  void check_padding(std::size_t r, std::int64_t local) {
    for (tensor const x :
         backward() ? std::vector{tensor::dq, tensor::dk, tensor::dv} : std::vector{tensor::o, tensor::lse}) {
      for (std::int32_t h = 0; h < heads_of(x, batch_.shape); ++h) {
        expect(home_word(r, x, local, h) == 0, "padding of ", name_of(x), " is not cleared");
      }
    }
  }

  pool_batch const& batch_;
  pool_program const& programs_;
  random_bits bits_;
  workspaces left_;
  std::vector<rank_state> ranks_;
  std::array<std::vector<std::vector<word>>, 2> prefix_;
  std::vector<word> key_sums_{0};
  std::vector<std::vector<home>> homes_;
  std::vector<std::int64_t> home_rows_;
  std::vector<std::pair<std::size_t, std::size_t>> preference_;
  std::set<std::tuple<std::int32_t, std::int64_t, std::int32_t>> computed_;
  std::map<op const*, std::vector<std::size_t>> peers_;
  std::map<pair_of_ends, channel> channels_;
};

}  // namespace libra::test
