import { parseJsonText } from '@postern/core'

const tokenPattern =
  /[ \t\r\n]*(?:"([^"\\]*(?:\\.[^"\\]*)*)"([ \t\r\n]*:)?|([[{])|([\]}])|(-?\d[\d.eE+-]*)|(true|false|null)|,)[ \t\r\n]*/y

/**
 * The reason why two readers of this text may see different documents; undefined when there is none. Reasons are a
 * repeated member, or a number that is not canonical (`1.0`, `1e3`, too many digits). The text must be JSON. Linear.
 */
export function findAmbiguity(text: string): string | undefined {
  const open: OpenValue[] = []
  tokenPattern.lastIndex = text.startsWith('\ufeff') ? 1 : 0
  while (tokenPattern.lastIndex < text.length) {
    const token = tokenPattern.exec(text)
    const fault = token ? findTokenFault(token, open.at(-1)) : 'it cannot be read'
    if (fault) return fault
    follow(token?.[3], token?.[4], open)
  }
  return undefined
}

/** The names seen so far in an object; undefined for an array. */
type OpenValue = Set<string> | undefined

function findTokenFault([, string, colon, , , number]: RegExpExecArray, inside: OpenValue): string | undefined {
  if (colon !== undefined && isRepeated(string ?? '', inside)) return 'a member is repeated'
  if (number !== undefined && String(Number(number)) !== number) return 'a number is not in its canonical form'
  return undefined
}

function follow(opened: string | undefined, closed: string | undefined, open: OpenValue[]): void {
  if (opened) open.push(opened === '{' ? new Set() : undefined)
  if (closed) open.pop()
}

function isRepeated(written: string, seen: Set<string> | undefined): boolean {
  const name = written.includes('\\') ? (parseJsonText(`"${written}"`) as string) : written
  if (!seen || seen.has(name)) return true
  seen.add(name)
  return false
}
