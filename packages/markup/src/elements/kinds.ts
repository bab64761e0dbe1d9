const listNames = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Their content is never text that a reader sees. */
export const silentElements = listNames(
  'script style head title template noscript svg math object applet select datalist iframe noembed noframes textarea audio video canvas map progress meter rp',
)
/** They have no content (HTML §13.1.2). */
export const voidElements = listNames('area base br col embed hr img input link meta param source track wbr')

/** Line ends around an element; between two elements the larger counts. */
export const blockBreaks: ReadonlyMap<string, number> = new Map([
  ...'li tr div table dt dd figcaption summary option center'.split(' ').map(name => [name, 1] as const),
  ...'p hr ul ol dl blockquote pre h1 h2 h3 h4 h5 h6 section article header footer main aside nav form fieldset figure details address'
    .split(' ')
    .map(name => [name, 2] as const),
])

/** Their start tag ends an open paragraph (HTML §13.2.6.4.7). */
export const endsParagraph = listNames(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre section summary ul dt dd',
)
/** They go on behind the end of the element they stand in, until their own end tag comes (HTML §13.2.4.3). */
export const formattingElements = listNames('a b big code em font i nobr s small strike strong tt u')
/** An end tag does not reach an element outside of these (HTML §13.2.4.2). */
export const scopeElements = listNames('table td th caption template object applet marquee')
export const tableElements = listNames('tr td th tbody thead tfoot caption')
