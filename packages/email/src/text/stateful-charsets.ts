// Decodes the stateful charsets of mail, which Node.js cannot decode.

/** The decoders of charsets that shift between ASCII and characters of two octets, by the name of the charset. */
export const statefulCharsets: ReadonlyMap<string, (octets: Buffer) => string> = new Map([
  ['iso-2022-kr', decodeKorean],
  ['csiso2022kr', decodeKorean],
  ['hz-gb-2312', decodeHz],
  ['hz', decodeHz],
])

const [designator, shiftOut, shiftIn] = ['\x1b$)C', '\x0e', '\x0f'] as const

/**
 * Decodes Korean mail (RFC 1557): EUC-KR without the high bit, between two shift characters. Each line begins
 * unshifted.
 */
function decodeKorean(octets: Buffer): string {
  const [unshiftedStart = '', ...shiftedPieces] = octets.toString('latin1').replaceAll(designator, '').split(shiftOut)
  const pieces = shiftedPieces.map(piece => {
    const end = findShiftEnd(piece)
    return end < 0 ? setHighBits(piece) : setHighBits(piece.slice(0, end)) + piece.slice(end)
  })
  const text = [unshiftedStart, ...pieces].join('').replaceAll(shiftIn, '')
  return new TextDecoder('euc-kr').decode(Buffer.from(text, 'latin1'))
}

/** Decodes HZ (RFC 1843): GB 2312 without the high bit between `~{` and `~}`. `~~` is a tilde, and a tilde before a line end joins the two lines. */
function decodeHz(octets: Buffer): string {
  const text = octets
    .toString('latin1')
    .replace(/~(?:\{([^\n]*?)(?:~\}|(?=\n|$))|(~)|\r?\n)/g, (_, shifted?: string, tilde = '') =>
      shifted === undefined ? tilde : setHighBits(shifted),
    )
  return new TextDecoder('gbk').decode(Buffer.from(text, 'latin1'))
}

function setHighBits(text: string): string {
  return text.replace(/[!-~]/g, char => String.fromCharCode(char.charCodeAt(0) | 0x80))
}

/** Finds the end of the shifted characters: the shift-in character or the end of the line. */
function findShiftEnd(piece: string): number {
  const ends = [piece.indexOf(shiftIn), piece.indexOf('\n')].filter(position => position >= 0)
  return ends.length > 0 ? Math.min(...ends) : -1
}
