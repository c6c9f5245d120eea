#pragma once
// A self-contained HTML page: text, tables and charts, no network, no scripts.

#include <string>
#include <string_view>
#include <vector>

namespace lazydp {

class HtmlPage {
 public:
  HtmlPage(std::string_view title, std::string_view subtitle);

  HtmlPage& heading(std::string_view text);
  HtmlPage& paragraph(std::string_view text);

  // Adds a command as it was typed.
  HtmlPage& code(std::string_view text);

  // Adds a paragraph that stands out.
  HtmlPage& warning(std::string_view text);

  // Adds a table. The first row has the names of the columns; the first column those of the rows.
  HtmlPage& table(const std::vector<std::vector<std::string>>& rows);

  // Adds an SVG of chart.h, beside its neighbours where the window is wide enough.
  HtmlPage& picture(std::string_view svg);

  std::string finish() const;

 private:
  void leave_pictures();

  std::string text_;
  bool among_pictures_ = false;
};

}  // namespace lazydp
