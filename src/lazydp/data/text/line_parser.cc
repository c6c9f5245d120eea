#include "lazydp/data/text/line_parser.h"

namespace lazydp {
namespace {

std::string count_complaint(std::size_t wanted, std::size_t got) {
  return "the line has " + std::to_string(got) + (got == 1 ? " column" : " columns") +
         "; it must have " + std::to_string(wanted);
}

}  // namespace

LineParser::LineParser(const Schema& schema, std::size_t longest_record,
                       std::vector<Lookup>* lookups)
    : schema_(schema),
      encoders_(ColumnEncoder::all(schema_)),
      longest_record_(longest_record),
      lookups_(lookups) {}

std::optional<Complaint> LineParser::parse(std::string_view line, Records& out) {
  out.begin();
  Fields fields(schema_, line, scratch_);
  for (const ColumnEncoder& encoder : encoders_) {
    const std::size_t column = fields.column();
    if (!fields.more()) {
      return Complaint{
          line.size() + 1,
          count_complaint(encoders_.size(), static_cast<std::size_t>(&encoder - encoders_.data()))};
    }
    const std::optional<Field> field = fields.next();
    if (!field)
      return Complaint{
          column, encoder.column().name + " starts a quote that does not end well on its line"};
    if (!encoder.encode(field->value, out, why_, lookups_)) return Complaint{field->column, why_};
  }
  if (fields.more()) {
    const std::size_t column = fields.column();
    std::size_t count = encoders_.size();
    for (; fields.more() && fields.next(); ++count) {
    }
    return Complaint{column, count_complaint(encoders_.size(), count)};
  }
  if (out.bytes_of_open() > longest_record_) {
    return Complaint{1, "the line has more values than fit into a page of the data file"};
  }
  out.end();
  return std::nullopt;
}

std::optional<Complaint> LineParser::parse_header(std::string_view line) {
  Fields fields(schema_, line, scratch_);
  for (const ColumnEncoder& encoder : encoders_) {
    const std::optional<Field> field = fields.more() ? fields.next() : std::nullopt;
    if (!field || field->value != encoder.column().name) {
      return Complaint{field ? field->column : line.size() + 1,
                       "the header has " + (field ? shown(field->value) : "nothing") +
                           " where the schema has '" + encoder.column().name + "'"};
    }
  }
  if (fields.more())
    return Complaint{fields.column(), "the header has more columns than the schema"};
  return std::nullopt;
}

}  // namespace lazydp
