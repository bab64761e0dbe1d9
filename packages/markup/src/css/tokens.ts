// Splits CSS into tokens (CSS Syntax 3 §4), each bracket with the token that closes it.
import { tokenize, tokenTypes as types } from 'css-tree/tokenizer'
import { ident } from 'css-tree/utils'

export interface CssToken {
  readonly type: number
  readonly start: number
  readonly end: number
  /** The index of the token after this one. For an opening bracket it is the index after the token that closes it. */
  nextIndex: number
}

export interface CssTokens {
  readonly text: string
  readonly tokens: readonly CssToken[]
}

const closingTypes: ReadonlyMap<number, number> = new Map([
  [types.Function, types.RightParenthesis],
  [types.LeftParenthesis, types.RightParenthesis],
  [types.LeftSquareBracket, types.RightSquareBracket],
  [types.LeftCurlyBracket, types.RightCurlyBracket],
] as [number, number][])

/** Splits text into tokens. An unclosed bracket spans the remaining text, and an unmatched closing bracket is an ordinary token. */
export function tokenizeCss(text: string): CssTokens {
  const tokens: CssToken[] = []
  const openBrackets: CssToken[] = []
  tokenize(text, (type, start, end) => {
    const token = { type, start, end, nextIndex: tokens.length + 1 }
    tokens.push(token)
    const opener = openBrackets.at(-1)
    if (closingTypes.has(type)) openBrackets.push(token)
    else if (opener && closingTypes.get(opener.type) === type) {
      opener.nextIndex = tokens.length
      openBrackets.pop()
    }
  })
  for (const token of openBrackets) token.nextIndex = tokens.length + 1
  return { text, tokens }
}

const blankTypes: ReadonlySet<number | undefined> = new Set([types.WhiteSpace, types.Comment])

export function isSpace({ type }: CssToken): boolean {
  return blankTypes.has(type)
}

const verbatimTypes: ReadonlySet<number | undefined> = new Set([types.String, types.BadString])

/** Writes tokens in lower case, without comments and with decoded escapes: `\64 isplay` becomes `display`. */
export function writePlain({ text, tokens }: CssTokens, from: number, to: number): string {
  const words = tokens.slice(from, to).map(({ type, start, end }) => {
    if (type === types.Comment) return ' '
    const word = text.slice(start, end)
    return word.includes('\\') && !verbatimTypes.has(type) ? ident.decode(word) : word
  })
  return words.join('').trim().toLowerCase()
}
