// Names the charset that HTML declares itself. This name has its own file, so that its users do not load the tables of
// charsets.

/** The value of a `charset` parameter that stands for the charset in the `meta` element of the HTML. */
export const charsetOfMeta = 'x-charset-of-meta'
