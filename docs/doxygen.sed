# Our comments as Doxygen reads them: the line under #pragma once is about the file, a comment on
# lines of its own about what follows, one after code about what stands before it.
2s|^// |/// \\file\n/// |
s|^( *)//( .*)?$|\1///\2|
s|([;,{}]) +// (.*)$|\1  ///< \2|
