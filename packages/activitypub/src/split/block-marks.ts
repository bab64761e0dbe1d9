/** Deeper than this no block has blocks inside: everything is a paragraph. */
export const maxDepth = 6

/** The beginnings of blocks, as the lines of them are written. */
export const fence = /^ {0,3}(```+|~~~+)/
export const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/
export const quoted = /^ {0,3}> ?/
export const heading = /^ {0,3}#{1,6} +/
export const rule = /^ {0,3}([-*_])( *\1){2,} *$/
/** Belongs to the list item above. */
export const indented = /^ {2,}\S/
/** The part that is removed from such a line. */
export const indent = /^ {2,4}/

export function isOrderedItem(line: string): boolean {
  return /^\s*\d/.test(line)
}
