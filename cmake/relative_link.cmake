# vig_relative_link(FROM TO NAME): a link TO/NAME that leads to FROM/NAME, be it there or not. Relative, so
# that a tree with its builds can move; between the real folders, since a build may be a link to another
# disk, where ".." leads elsewhere.
function(vig_relative_link from to name)
  file(MAKE_DIRECTORY ${to})
  file(REAL_PATH ${from} from)
  file(REAL_PATH ${to} to)
  file(RELATIVE_PATH path ${to} ${from}/${name})
  file(CREATE_LINK ${path} ${to}/${name} SYMBOLIC)
endfunction()
