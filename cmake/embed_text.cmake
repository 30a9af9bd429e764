# cmake -DIN=FILE -DOUT=FILE.cpp -DHEADER=vig/serve/page.h -DFUNCTION=page_text -P embed_text.cmake
# A text file as a C++ function that returns it.
file(READ ${IN} text)
file(WRITE ${OUT} "#include \"${HEADER}\"

namespace vig {

const std::string& ${FUNCTION}() {
  static const std::string text = R\"EMBEDDED(${text})EMBEDDED\";
  return text;
}

}  // namespace vig
")
