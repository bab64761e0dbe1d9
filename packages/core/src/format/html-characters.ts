/** The named references that posts use; any other stands as it is written. */
const named: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    hellip: '…',
    mdash: '—',
    ndash: '–',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    laquo: '«',
    raquo: '»',
    bull: '•',
    middot: '·',
    copy: '©',
    reg: '®',
    trade: '™',
    euro: '€',
    pound: '£',
    deg: '°',
    times: '×',
    larr: '←',
    rarr: '→',
    shy: '\u00ad',
    zwj: '\u200d',
    zwnj: '\u200c',
    auml: 'ä',
    ouml: 'ö',
    uuml: 'ü',
    Auml: 'Ä',
    Ouml: 'Ö',
    Uuml: 'Ü',
    szlig: 'ß',
    eacute: 'é',
    egrave: 'è',
    agrave: 'à',
    ccedil: 'ç',
  }),
)
const reference = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g

export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(reference, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name) return named.get(name) ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
    return isCharacter(code) ? String.fromCodePoint(code) : '\ufffd'
  })
}

function isCharacter(code: number): boolean {
  return code > 0 && code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff)
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for HTML, in content and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => escapes[char] ?? char)
}
