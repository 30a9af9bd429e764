// Bodies of requests, good and broken.
#include "vig/serve/request_body.h"

#include <gtest/gtest.h>

#include "vig/serve/http_error.h"

namespace vig {
namespace {

const std::string kForm = "multipart/form-data; boundary=XyZ";
const std::string kJson = "application/json";

// 0 where the body is accepted.
int status_of(const std::string& type, const std::string& body, size_t most = 3) {
  try {
    read_request_body(type, body, most);
    return 0;
  } catch (const HttpError& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_NE(error.kind(), "");
    return error.status();
  }
}

std::string part(const std::string& disposition, const std::string& content) {
  return "--XyZ\r\nContent-Disposition: " + disposition + "\r\n\r\n" + content + "\r\n";
}

TEST(RequestBody, RawBytesAreOneImage) {
  for (const char* type : {"", "image/jpeg", "IMAGE/png", "application/octet-stream",
                           "application/x-www-form-urlencoded", "image/webp; q=1"}) {
    const std::string body("\0\r\n--x", 6);
    const RequestBody request = read_request_body(type, body, 1);
    ASSERT_EQ(request.images.size(), 1u) << type;
    EXPECT_EQ(request.images[0].bytes, body);
    EXPECT_TRUE(request.options.empty());
  }
  EXPECT_TRUE(read_request_body("image/png", "", 1).images.empty());
  for (const char* type : {"text/plain", "application/xml", "imag/png", "multipart/mixed"}) {
    EXPECT_EQ(status_of(type, "x"), 415) << type;
  }
}

TEST(RequestBody, FormsHaveImagesAndOptions) {
  const std::string body =
      part("form-data; name=\"top\"", "3") +
      part("form-data; name=\"a\"; filename=\"../../etc/cat \\\"1\\\".jpg\"", "A\r\n--XyQ\r\n") +
      part("form-data; filename=b\\c.png; name=image", "B") + part("form-data; name=image", "C") +
      "--XyZ--\r\n";
  const RequestBody request = read_request_body(kForm, body, 3);
  ASSERT_EQ(request.images.size(), 3u);
  EXPECT_EQ(request.images[0].bytes, "A\r\n--XyQ\r\n");
  EXPECT_EQ(request.images[0].name, "cat \"1\".jpg") << "folders of clients do not matter";
  EXPECT_EQ(request.images[1].bytes, "B");
  EXPECT_EQ(request.images[1].name, "c.png");
  EXPECT_EQ(request.images[2].name, "image 3");
  EXPECT_EQ(request.options, (std::map<std::string, std::string>{{"top", "3"}}));
  EXPECT_EQ(status_of(kForm, body, 2), 413);
  EXPECT_EQ(status_of("Multipart/Form-Data; charset=x; BOUNDARY=\"XyZ\"", body), 0);
}

TEST(RequestBody, BrokenFormsAreRefused) {
  const std::string good = part("form-data; name=image", "A");
  EXPECT_EQ(status_of(kForm, good + "--XyZ--"), 0);
  EXPECT_EQ(status_of(kForm, "--XyZ--"), 0) << "no image is the caller's matter";
  for (const std::string& body :
       {std::string(), std::string("x"), good, good + "--XyZ", good + "--XyZ-",
        "x" + good + "--XyZ--", std::string("--XyZ\r\n"), std::string("--XyZ\r\n\r\n"),
        std::string("--XyZ\r\nA: b\r\n--XyZ--"), std::string("--XyZx\r\n\r\nA\r\n--XyZ--"),
        part("form-data; name=a", "1") + part("form-data; name=a", "2") + "--XyZ--",
        part("form-data; name=a", std::string(2000, 'x')) + "--XyZ--",
        "--XyZ\r\nA: " + std::string(9000, 'x') + "\r\n\r\nA\r\n--XyZ--"}) {
    EXPECT_EQ(status_of(kForm, body), 400) << body.substr(0, 60);
  }
  std::string many;
  for (int i = 0; i < 40; ++i) many += part("form-data; name=o" + std::to_string(i), "1");
  EXPECT_EQ(status_of(kForm, many + "--XyZ--"), 400);
  for (const char* type : {"multipart/form-data", "multipart/form-data; boundary",
                           "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
                           "multipart/form-data; x=\"boundary=XyZ\""}) {
    EXPECT_EQ(status_of(type, good + "--XyZ--"), 400) << type;
  }
  EXPECT_EQ(status_of("multipart/form-data; boundary=" + std::string(71, 'x'), good), 400);
}

// Limits are reached before they are passed: 32 options of 1024 bytes, boundaries of 70.
TEST(RequestBody, AsMuchAsAllowedIsRead) {
  const auto options = [](int count, size_t bytes) {
    std::string body;
    for (int i = 0; i < count; ++i) {
      body += part("form-data; name=o" + std::to_string(i), std::string(bytes, 'x'));
    }
    return status_of(kForm, body + "--XyZ--");
  };
  EXPECT_EQ(options(32, 1024), 0);
  EXPECT_EQ(options(33, 1), 400);
  EXPECT_EQ(options(1, 1025), 400);
  const std::string longest(70, 'b');
  EXPECT_EQ(status_of("multipart/form-data; boundary=" + longest,
                      "--" + longest + "\r\n\r\n\r\nA\r\n--" + longest + "--"),
            0);
}

// Names of files come back in replies: short, and readable whatever bytes they had.
TEST(RequestBody, NamesOfFilesAreReadable) {
  const auto name = [](const std::string& file) {
    const std::string body = part("form-data; name=a; filename=\"" + file + "\"", "A") + "--XyZ--";
    return read_request_body(kForm, body, 1).images.at(0).name;
  };
  EXPECT_EQ(name("cat\xff\x01.jpg"), "cat\\xff\\x01.jpg");
  EXPECT_LT(name(std::string(5000, 'x')).size(), 300u);
  EXPECT_EQ(name("folder/"), "image 1") << "a folder has no file's name";
}

TEST(RequestBody, JsonHasImagesInBase64) {
  const RequestBody request = read_request_body(
      kJson, R"({"image":"QUJD","top":3,"images":["QQ==","data:image/png;base64,QUI="],
                 "threshold":2.50e-1,"map":true,"class":"a\u0062"})",
      3);
  ASSERT_EQ(request.images.size(), 3u);
  EXPECT_EQ(request.images[0].bytes, "ABC");
  EXPECT_EQ(request.images[1].bytes, "A");
  EXPECT_EQ(request.images[2].bytes, "AB");
  EXPECT_EQ(request.images[2].name, "image 3");
  EXPECT_EQ(request.options,
            (std::map<std::string, std::string>{
                {"top", "3"}, {"threshold", "2.50e-1"}, {"map", "true"}, {"class", "ab"}}));
  EXPECT_EQ(status_of("Application/JSON; charset=utf-8", R"({"image":"QUJD"})"), 0);
}

TEST(RequestBody, BrokenJsonIsRefused) {
  for (const char* body : {"",
                           "x",
                           "{",
                           "null",
                           "3",
                           "\"QUJD\"",
                           "[]",
                           "[\"QUJD\"]",
                           "[[",
                           R"({"image":3})",
                           R"({"image":null})",
                           R"({"image":["QUJD"]})",
                           R"({"image":{}})",
                           R"({"images":"QUJD"})",
                           R"({"images":[["QUJD"]]})",
                           R"({"images":[{}]})",
                           R"({"images":[1]})",
                           R"({"images":[true]})",
                           R"({"images":3})",
                           R"({"top":[1]})",
                           R"({"top":{}})",
                           R"({"top":null})",
                           R"({"top":1,"top":2})",
                           R"({"image":"QUJD","image":"QUJD"})",
                           R"({"images":["QUJD"],"images":[]})",
                           R"({"image":"QUJD"}x)",
                           R"({"image":"QUJD",})",
                           "{\"image\":\"\xff\"}",
                           R"({"image":"QUJD)"}) {
    EXPECT_EQ(status_of(kJson, body), 400) << body;
  }
  EXPECT_EQ(status_of(kJson, std::string("{\"image\":\"QUJD\"}\0 x", 23)), 400);
  EXPECT_EQ(status_of(kJson, R"({"images":["QQ==","QQ==","QQ==","QQ=="]})"), 413);
  EXPECT_EQ(status_of(kJson, R"({"images":["QQ==","QQ==","QQ=="],"image":"QQ=="})"), 413);
  EXPECT_EQ(status_of(kJson, std::string(1 << 20, '[')), 400);
  EXPECT_EQ(status_of(kJson, "{\"top\":\"" + std::string(2000, '1') + "\"}"), 400);
}

// Texts that are no images belong to themselves alone.
TEST(RequestBody, ImagesThatAreNoBase64SpoilNoOther) {
  for (const std::string bad : {"QUJ", "QUJ*", "data:image/png,QUJD"}) {
    const std::string body = R"({"images":[")" + bad + R"(","QUJD"]})";
    const RequestBody request = read_request_body(kJson, body, 3);
    ASSERT_EQ(request.images.size(), 2u);
    EXPECT_NE(request.images[0].error, "") << bad;
    EXPECT_EQ(request.images[1].error, "");
    EXPECT_EQ(request.images[1].bytes, "ABC");
  }
  const std::string error = [] {
    try {
      read_request_body(kJson, "{\"image\":1" + std::string(1 << 20, '0') + "}", 3);
    } catch (const HttpError& refused) {
      return std::string(refused.what());
    }
    return std::string();
  }();
  EXPECT_LT(error.size(), 200u) << "what was sent is not sent back";
}

TEST(RequestBody, Base64IsStrict) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("AP+/"), std::string("\0\xff\xbf", 3));
  EXPECT_EQ(decode_base64("Zm9vYmE="), "fooba");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  for (const char* text : {"A", "AB", "ABC", "A===", "====", "AB=C", "AB-_", "AB C", "ABC\n",
                           "QQ==QQ==", "ABCDE", "data:,x", "data:;base64,A"}) {
    EXPECT_THROW(decode_base64(text), HttpError) << text;
  }
}

TEST(RequestBody, QueriesAreOptions) {
  using Options = std::map<std::string, std::string>;
  EXPECT_EQ(read_query(""), Options{});
  EXPECT_EQ(read_query("a=1&b=x%20y+z&&c=%C3%a4&d&e=&f=g=h"),
            (Options{{"a", "1"}, {"b", "x y z"}, {"c", "ä"}, {"d", ""}, {"e", ""}, {"f", "g=h"}}));
  for (const char* query : {"a=1&a=2", "a=%", "a=%4", "a=%4x", "a=%x4", "%=1", "a=%%41"}) {
    EXPECT_THROW(read_query(query), HttpError) << query;
  }
  EXPECT_THROW(read_query("a=" + std::string(2000, 'x')), HttpError);
}

}  // namespace
}  // namespace vig
