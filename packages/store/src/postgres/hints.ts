import { randomUUID } from 'node:crypto'
import { parseJsonText } from '@postern/core'
import type { Notice } from '../engine/database.ts'

export interface Hints {
  /** As payloads of NOTIFY, of which none may be longer than 8 000 bytes. Short notices share one: the server carries each payload to each gateway. */
  write(notices: readonly Notice[]): readonly string[]
  /** What another gateway has told, once all of it is here. */
  read(payload: string): readonly Notice[]
}

const pieceLength = 7_000
/** Longer ones are not told: who waits for one looks in the store. */
const mostPieces = 64
/** Begun ones of which the rest may never come. */
const mostBegun = 100

/** What gateways of one database tell each other. Each one hears itself, too, and passes that over. */
export function createHints(own: string = randomUUID()): Hints {
  let last = 0
  const begun = new Map<string, string[]>()

  function formatPieces(text: string): readonly string[] {
    const count = Math.ceil(text.length / pieceLength)
    if (count > mostPieces) return []
    last += 1
    return Array.from({ length: count }, (_, at) => {
      const piece = text.slice(at * pieceLength, (at + 1) * pieceLength)
      return `${own} ${last} ${at} ${count} ${piece}`
    })
  }

  function join(key: string, { at, count, piece }: { at: number; count: number; piece: string }): string | undefined {
    const pieces = begun.get(key) ?? []
    pieces[at] = piece
    begun.delete(key)
    if (Object.keys(pieces).length === count) return pieces.join('')
    begun.set(key, pieces)
    const [oldest] = begun.keys()
    if (begun.size > mostBegun && oldest !== undefined) begun.delete(oldest)
    return undefined
  }

  return {
    write: notices => packTexts(notices.flatMap(formatNotice)).flatMap(formatPieces),
    read(payload) {
      const found = /^(\S+) (\d+) (\d+) (\d+) (.*)$/s.exec(payload)
      const [, from, number, at, count, piece] = found ?? []
      if (from === own || piece === undefined) return []
      const text = join(`${from} ${number}`, { at: Number(at), count: Number(count), piece })
      return text === undefined ? [] : parseNotices(text)
    },
  }
}

/** As JSON; none for what cannot be told. */
function formatNotice({ topic, payload }: Notice): readonly string[] {
  try {
    return [escapeLetters(JSON.stringify([topic, payload]))]
  } catch {
    return []
  }
}

/** Lists of notices, as JSON: as many in each as fit in one piece. One that is longer stands alone. */
function packTexts(texts: readonly string[]): readonly string[] {
  const lists: string[] = []
  for (const text of texts) {
    const last = lists.at(-1)
    if (last !== undefined && last.length + text.length + 3 <= pieceLength) lists[lists.length - 1] = `${last},${text}`
    else lists.push(text)
  }
  return lists.map(list => `[${list}]`)
}

/** One byte each, so that no letter is cut. */
function escapeLetters(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Whoever may write to the database may tell anything. */
function parseNotices(text: string): readonly Notice[] {
  try {
    const told = parseJsonText(text) as readonly unknown[]
    return told.flatMap(each => {
      const [topic, payload] = each as readonly unknown[]
      return typeof topic === 'string' ? [{ topic, payload }] : []
    })
  } catch {
    return []
  }
}
