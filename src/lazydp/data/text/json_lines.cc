#include "lazydp/data/text/json_lines.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"

namespace lazydp {
namespace {

// What a record has for one column.
struct Member {
  enum class Kind : std::uint8_t { absent, missing, text, truth, list, unusable };
  Kind kind = Kind::absent;
  // The values' places among the texts of the record; a list may have several.
  std::vector<std::pair<std::size_t, std::size_t>> values = {};
};

struct Hash : std::hash<std::string_view> {
  using is_transparent = void;
};

// Receives what the parser reads, and keeps the members that are columns of the schema. A function
// returns false to stop the parser.
class MemberCollector {
 public:
  explicit MemberCollector(const Schema& schema) : members_(schema.columns.size()) {
    for (std::size_t i = 0; i < schema.columns.size(); ++i) {
      if (schema.columns[i].role != Role::ignore || schema.columns[i].key) {
        places_.emplace(schema.columns[i].name, i);
      }
    }
  }

  void begin() {
    for (Member& member : members_) {
      member.kind = Member::Kind::absent;
      member.values.clear();
    }
    texts_.clear();
    why_.clear();
    at_ = 1;
    depth_ = 0;
    column_ = nullptr;
  }

  const Member& member(std::size_t column) const { return members_[column]; }
  std::string_view text(std::pair<std::size_t, std::size_t> value) const {
    return std::string_view(texts_).substr(value.first, value.second);
  }
  const std::string& why() const { return why_; }
  std::size_t column() const { return at_; }

  bool null() {
    if (depth_ == 1) set(Member::Kind::missing);
    return in_object();
  }
  bool boolean(bool value) { return add(value ? "true" : "false", Member::Kind::truth); }
  bool number_integer(std::int64_t value) { return add_number(value); }
  bool number_unsigned(std::uint64_t value) { return add_number(value); }
  bool number_float(double /*value*/, const std::string& text) { return add(text); }
  bool string(const std::string& text) { return add(text); }
  static bool binary(const Json::binary_t& /*bytes*/) { return false; }  // not in text
  bool start_object(std::size_t /*size*/) {
    if (depth_ > 0) set(Member::Kind::unusable);
    ++depth_;
    return true;
  }
  bool end_object() { return leave(); }
  bool start_array(std::size_t /*size*/) {
    if (!in_object()) return false;
    set(depth_ == 1 ? Member::Kind::list : Member::Kind::unusable);
    ++depth_;
    return true;
  }
  bool end_array() { return leave(); }
  bool key(const std::string& name) {
    if (depth_ > 1) return true;
    const auto found = places_.find(name);
    column_ = found == places_.end() ? nullptr : &members_[found->second];
    if (column_ == nullptr || column_->kind == Member::Kind::absent) return true;
    why_ = "the object has " + shown(name) + " twice";
    return false;
  }
  bool parse_error(std::size_t position, const std::string& token, const Json::exception&) {
    at_ = std::max<std::size_t>(1, position);
    why_ = "this is no object of JSON: it breaks at " + shown(token);
    return false;
  }

 private:
  bool leave() {
    --depth_;
    return true;
  }
  bool in_object() {
    if (depth_ > 0) return true;
    at_ = 1;
    why_ = "the line is no object; JSON lines have one a line (jq -c '.[]' makes them of a list)";
    return false;
  }
  void set(Member::Kind kind) {
    if (column_ != nullptr) column_->kind = kind;
  }
  template <class Number>
  bool add_number(Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return add({digits, static_cast<std::size_t>(end - digits)});
  }
  // Adds a value of the open member, or of its list; deeper ones are not read.
  bool add(std::string_view text, Member::Kind kind = Member::Kind::text) {
    if (column_ != nullptr && depth_ <= 2 && column_->kind != Member::Kind::unusable) {
      if (depth_ == 1) column_->kind = kind;
      column_->values.emplace_back(texts_.size(), text.size());
      texts_ += text;
    }
    return in_object();
  }

  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;
  std::vector<Member> members_;
  std::string texts_;
  Member* column_ = nullptr;  // of the open member; null: it is not read
  std::size_t depth_ = 0;
  std::size_t at_ = 1;
  std::string why_;
};

class JsonParser final : public ExampleParser {
 public:
  JsonParser(const Schema& schema, std::size_t longest_record, std::vector<Lookup>* lookups)
      : schema_(schema),
        encoders_(ColumnEncoder::all(schema_)),
        members_(schema_),
        seen_(schema_.columns.size(), false),
        longest_record_(longest_record),
        lookups_(lookups) {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      seen_[i] = schema_.columns[i].role == Role::ignore && !schema_.columns[i].key;
    }
  }

  std::optional<Complaint> parse(std::string_view record, Records& out) override {
    members_.begin();
    if (!Json::sax_parse(record.begin(), record.end(), &members_)) {
      return Complaint{std::min(members_.column(), record.size() + 1), members_.why()};
    }
    out.begin();
    for (std::size_t i = 0; i < encoders_.size(); ++i) {
      if (!encode(i, out)) return Complaint{1, why_};
    }
    if (out.bytes_of_open() > longest_record_) {
      return Complaint{1, "the line has more values than fit into a page of the data file"};
    }
    out.end();
    return std::nullopt;
  }

  std::vector<bool> columns_seen() const override { return seen_; }

 private:
  bool encode(std::size_t i, Records& out) {
    const ColumnEncoder& encoder = encoders_[i];
    const Member& member = members_.member(i);
    if (member.kind != Member::Kind::absent) seen_[i] = true;
    switch (member.kind) {
      case Member::Kind::absent:
      case Member::Kind::missing: return encoder.encode_missing(out, why_);
      case Member::Kind::text:
        return encoder.encode(encoder.trimmed(members_.text(member.values.front())), out, why_,
                              lookups_);
      case Member::Kind::truth: {
        const std::string_view word = members_.text(member.values.front());
        return encoder.takes_number() ? encoder.encode_number(word == "true" ? 1.0 : 0.0, out, why_)
                                      : encoder.encode(word, out, why_, lookups_);
      }
      case Member::Kind::list: {
        values_.clear();
        for (const auto& value : member.values) values_.push_back(members_.text(value));
        return encoder.encode_list(values_, out, why_, lookups_);
      }
      case Member::Kind::unusable:
        why_ = encoder.column().name +
               " is an object, or a list that holds one; it must be a value or a list of values";
        return false;
    }
    throw InternalError("unknown Member::Kind");
  }

  Schema schema_;
  std::vector<ColumnEncoder> encoders_;  // point into schema_
  MemberCollector members_;
  std::vector<bool> seen_;
  std::vector<std::string_view> values_;
  std::size_t longest_record_;
  std::vector<Lookup>* lookups_;
  std::string why_;
};

}  // namespace

TextFormat json_lines() {
  return {
      .rules = {.json = true},
      .make_parser = [](const Schema& schema, std::size_t longest, std::vector<Lookup>* lookups) {
        return std::make_unique<JsonParser>(schema, longest, lookups);
      }};
}

}  // namespace lazydp
