#include "vig/tasks/neighbours_html.h"

#include <gtest/gtest.h>

#include "support/xml.h"
#include "vig/tasks/jpeg_uri.h"

namespace vig::test {
namespace {

TEST(NeighboursHtml, EveryImageBesideThoseMostLikeIt) {
  const std::vector<ShownQuery> queries = {
      {{"<q1>.jpg", 1, {'M', 'a', 'n'}}, {{"a.jpg", 0.98768f, {'M'}}, {"b.jpg", -0.5f, {}}}},
      {{"q2.jpg", 1, {}}, {}}};
  const std::string page = neighbours_html(queries);
  EXPECT_EQ(xml_problem(page.substr(page.find('\n') + 1)), "");
  const std::string main =
      "<main>\n"
      "<figure><img alt=\"\" src=\"data:image/jpeg;base64,TWFu\"/><figcaption><b>the image</b>"
      "<div class=\"file\">&lt;q1&gt;.jpg</div></figcaption></figure>\n"
      "<figure><img alt=\"\" src=\"data:image/jpeg;base64,TQ==\"/><figcaption>cosine 0.9877"
      "<div class=\"file\">a.jpg</div></figcaption></figure>\n"
      "<figure><div class=\"none\">not readable any more</div><figcaption>cosine -0.5000"
      "<div class=\"file\">b.jpg</div></figcaption></figure>\n"
      "</main>\n<hr/>\n"
      "<main>\n"
      "<figure><div class=\"none\">not readable any more</div><figcaption><b>the image</b>"
      "<div class=\"file\">q2.jpg</div></figcaption></figure>\n"
      "</main>\n<hr/>\n";
  EXPECT_NE(page.find(main), std::string::npos) << page;
  // The page makes no requests, for any names of files.
  EXPECT_NE(page.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "img-src data:; style-src 'unsafe-inline'\"/>"),
            std::string::npos)
      << page;
}

TEST(ImageUri, Base64) {
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(jpeg_uri(Bytes{}), "data:image/jpeg;base64,");
  EXPECT_EQ(jpeg_uri(Bytes{'M', 'a'}), "data:image/jpeg;base64,TWE=");
  EXPECT_EQ(png_uri(Bytes{0xfb, 0xff, 0xbf, 0}), "data:image/png;base64,+/+/AA==");
}

}  // namespace
}  // namespace vig::test
