#pragma once
// How the noise of a run is correlated, as users say it: independent, lambda:0.93, bisr:16.

#include <string>
#include <string_view>

#include "lazydp/noise/correlation.h"
#include "lazydp/privacy/correlated_noise.h"

namespace lazydp {

// Parses independent | lambda:L | bisr:B, or lambda: the one that leaves the least noise in the
// weights of a block in which examples take part as planned. Throws UserError.
Correlation parse_correlation(std::string_view text, const Participation& planned);

// Returns a text that parse_correlation() reads back as the same bands.
std::string text_of(const Correlation& correlation);

// Describes correlated noise for those who read a claim.
std::string in_words(const Correlation& correlation);

}  // namespace lazydp
