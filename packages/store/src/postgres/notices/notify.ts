// Formats and parses the notices between the gateways of one database.
import { randomUUID } from 'node:crypto'
import { parseJsonText } from '@postern/message'
import type { Notice } from '../../transaction/notices.ts'

export interface NotifyCodec {
  /**
   * Packs formatted notices into payloads of NOTIFY, which may have 8,000 bytes each. Short notices share a payload, because the server sends each
   * payload to each gateway.
   */
  pack(texts: readonly string[]): readonly string[]
  /** Parses a payload of another gateway. Returns the notices of a list when all its pieces have arrived, and nothing before. */
  parse(payload: string): readonly Notice[]
}

const pieceLength = 7_000
/** The maximum number of pieces of one list. A longer list is not sent, and other gateways find the changes by polls. */
const maxPieces = 64
/** The maximum number of incomplete lists in memory. Their missing pieces may never arrive. */
const maxIncompleteLists = 100

/** Creates the codec of notices between gateways of one database. A gateway also receives its own notices and ignores them. */
export function createNotifyCodec(gatewayId: string = randomUUID()): NotifyCodec {
  let lastListNumber = 0
  const incompleteLists = new Map<string, string[]>()

  function formatPieces(text: string): readonly string[] {
    const count = Math.ceil(text.length / pieceLength)
    if (count > maxPieces) return []
    lastListNumber += 1
    return Array.from({ length: count }, (_, index) => {
      const piece = text.slice(index * pieceLength, (index + 1) * pieceLength)
      return `${gatewayId} ${lastListNumber} ${index} ${count} ${piece}`
    })
  }

  function joinPieces(
    key: string,
    { at: index, count, piece }: { at: number; count: number; piece: string },
  ): string | undefined {
    const pieces = incompleteLists.get(key) ?? []
    pieces[index] = piece
    incompleteLists.delete(key)
    if (Object.keys(pieces).length === count) return pieces.join('')
    incompleteLists.set(key, pieces)
    const [oldest] = incompleteLists.keys()
    if (incompleteLists.size > maxIncompleteLists && oldest !== undefined) incompleteLists.delete(oldest)
    return undefined
  }

  return {
    pack: texts => joinTexts(texts).flatMap(formatPieces),
    parse(payload) {
      const match = /^(\S+) (\d+) (\d+) (\d+) (.*)$/s.exec(payload)
      const [, senderId, number, at, count, piece] = match ?? []
      if (senderId === gatewayId || piece === undefined) return []
      const text = joinPieces(`${senderId} ${number}`, { at: Number(at), count: Number(count), piece })
      return text === undefined ? [] : parseNotices(text)
    },
  }
}

/** Formats a notice as JSON. Returns undefined if JSON cannot express its payload. */
export function formatNotice({ topic, payload }: Notice): string | undefined {
  try {
    return escapeLetters(JSON.stringify([topic, payload]))
  } catch {
    return undefined
  }
}

/** Joins formatted notices to JSON lists that fit into one piece. A longer notice gets its own list. */
function joinTexts(texts: readonly string[]): readonly string[] {
  const lists: string[] = []
  for (const text of texts) {
    const lastList = lists.at(-1)
    if (lastList !== undefined && lastList.length + text.length + 3 <= pieceLength)
      lists[lists.length - 1] = `${lastList},${text}`
    else lists.push(text)
  }
  return lists.map(list => `[${list}]`)
}

/** Escapes JSON to ASCII, so that no character is cut between two pieces. */
function escapeLetters(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Parses notices. Invalid ones are ignored, because every user of the database can send them. */
function parseNotices(text: string): readonly Notice[] {
  try {
    const entries = parseJsonText(text) as readonly unknown[]
    return entries.flatMap(entry => {
      const [topic, payload] = entry as readonly unknown[]
      return typeof topic === 'string' ? [{ topic, payload }] : []
    })
  } catch {
    return []
  }
}
