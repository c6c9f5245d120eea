#include "lazydp/report/html_page.h"

#include "lazydp/report/chart_canvas.h"

namespace lazydp {
namespace {

// The policy keeps a browser from loading anything, even by mistake.
constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

constexpr std::string_view kStyle =
    "<style>\n"
    "body{margin:2rem auto;max-width:1560px;padding:0 1.5rem;color:#2b303b;background:#fff;"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .6rem}\n"
    "p{max-width:52rem}pre{background:#f4f6f9;border-radius:4px;padding:.5rem .8rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;max-width:60rem}.wide{overflow-x:auto}\n"
    ".sub{color:#6b7385;margin:.2rem 0 1.5rem}\n"
    ".warn{border-left:4px solid #d55e00;background:#fdf4ee;padding:.6rem 1rem}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:left;padding:.25rem 1.2rem .25rem 0;border-bottom:1px solid #e3e7ee;"
    "vertical-align:top}\n"
    "thead th{border-bottom:2px solid #c9d0dc}tbody th{font-weight:600;white-space:nowrap}\n"
    ".pictures{display:flex;flex-wrap:wrap;gap:1.2rem;margin-top:1rem}\n"
    ".pictures figure{margin:0;flex:1 1 520px;max-width:760px;border:1px solid #e3e7ee;"
    "border-radius:6px;overflow:hidden}\n"
    ".pictures svg{display:block;width:100%;height:auto}\n"
    "@media(max-width:600px){body{margin:1rem auto;padding:0 .8rem}"
    "tbody th{white-space:normal}.pictures figure{flex-basis:100%}"
    ".pictures svg text{font-size:18px}"  // pictures are half as wide as they are drawn
    ".pictures svg text[font-weight]{font-size:14px}}\n"  // names must stay inside
    "</style>\n";

std::string element(std::string_view name, std::string_view attributes, std::string_view text) {
  return "<" + std::string(name) + std::string(attributes) + ">" + escaped(text) + "</" +
         std::string(name) + ">";
}

}  // namespace

HtmlPage::HtmlPage(std::string_view title, std::string_view subtitle) {
  text_ = std::string(kHead) + element("title", "", title) + "\n" + std::string(kStyle) +
          "</head>\n<body>\n" + element("h1", "", title) + "\n" +
          element("p", " class=\"sub\"", subtitle) + "\n";
}

HtmlPage& HtmlPage::heading(std::string_view text) {
  leave_pictures();
  text_ += element("h2", "", text) + "\n";
  return *this;
}

HtmlPage& HtmlPage::paragraph(std::string_view text) {
  leave_pictures();
  text_ += element("p", "", text) + "\n";
  return *this;
}

HtmlPage& HtmlPage::code(std::string_view text) {
  leave_pictures();
  text_ += element("pre", "", text) + "\n";
  return *this;
}

HtmlPage& HtmlPage::warning(std::string_view text) {
  leave_pictures();
  text_ += element("p", " class=\"warn\"", text) + "\n";
  return *this;
}

HtmlPage& HtmlPage::table(const std::vector<std::vector<std::string>>& rows) {
  leave_pictures();
  text_ += "<div class=\"wide\"><table>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text_ += r == 0 ? "<thead><tr>" : "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      text_ += element(r == 0 || c == 0 ? "th" : "td", "", rows[r][c]);
    }
    text_ += r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  text_ += "</tbody></table></div>\n";
  return *this;
}

HtmlPage& HtmlPage::picture(std::string_view svg) {
  if (!among_pictures_) text_ += "<div class=\"pictures\">\n";
  among_pictures_ = true;
  text_ += "<figure>" + std::string(svg) + "</figure>\n";
  return *this;
}

void HtmlPage::leave_pictures() {
  if (among_pictures_) text_ += "</div>\n";
  among_pictures_ = false;
}

std::string HtmlPage::finish() const {
  return text_ + (among_pictures_ ? "</div>\n" : "") + "</body>\n</html>\n";
}

}  // namespace lazydp
