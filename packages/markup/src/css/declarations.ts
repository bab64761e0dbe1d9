/** One declaration of a style attribute or a rule. Names and values in lower case, without comments and escapes. */
export interface Declaration {
  readonly name: string
  readonly value: string
  readonly isImportant: boolean
}

const [maxDeclarations, maxValue] = [128, 2048]

/** `a: b; c: d !important`, as browsers read it (CSS Syntax 3 §5.4). */
export function parseDeclarations(text: string): readonly Declaration[] {
  const plain = readCss(text)
  return splitOutside(plain, ';').slice(0, maxDeclarations).flatMap(readDeclaration)
}

function readDeclaration(text: string): Declaration[] {
  const colon = text.indexOf(':')
  const name = text.slice(0, Math.max(colon, 0)).trim().slice(0, 64)
  if (!name) return []
  const value = text.slice(colon + 1, colon + 1 + maxValue).trim()
  const bang = value.lastIndexOf('!')
  const isImportant = bang >= 0 && value.slice(bang + 1).trim() === 'important'
  return [{ name, value: isImportant ? value.slice(0, bang).trim() : value, isImportant }]
}

/** Without comments; escapes stand for their characters, so that `\64 isplay` is `display`. */
function readCss(text: string): string {
  return withoutComments(text)
    .toLowerCase()
    .replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gs, (_, code?: string, char?: string) => char ?? characterOf(code ?? ''))
}

function characterOf(code: string): string {
  const number = Number.parseInt(code, 16)
  return number > 0 && number <= 0x10_ffff ? String.fromCodePoint(number) : '\ufffd'
}

/** CSS Syntax 3 §4.3.2: without an end it takes the rest. */
export function withoutComments(text: string): string {
  if (!text.includes('/*')) return text
  let plain = ''
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf('/*', at)
    plain += text.slice(at, start < 0 ? text.length : start)
    const end = start < 0 ? -1 : text.indexOf('*/', start + 2)
    if (end < 0) break
    at = end + 2
  }
  return plain
}

/** Cuts at a character that stands in no string and no parentheses. One pass. */
export function splitOutside(text: string, mark: string): string[] {
  const pieces: string[] = []
  const place = { depth: 0, quote: '' }
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string
    const isOutside = place.depth === 0 && place.quote === ''
    if (!isOutside || char !== mark) trackPlace(char, place)
    else {
      pieces.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...pieces, text.slice(start)]
}

/** A line end closes a string (CSS Syntax 3 §4.3.5). */
function trackPlace(char: string, place: { depth: number; quote: string }): void {
  if (place.quote) place.quote = char === place.quote || char === '\n' ? '' : place.quote
  else if (char === '"' || char === "'") place.quote = char
  else if (char === '(') place.depth += 1
  else if (char === ')') place.depth = Math.max(0, place.depth - 1)
}
