// Names the charset that only the HTML itself names, apart from the large tables of charsets.

/** The value of a `charset` parameter that stands for the charset named in the HTML itself. */
export const charsetOfMeta = 'x-charset-of-meta'
