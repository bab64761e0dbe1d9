// Formats and reads the notices between gateways of one database.
import { randomUUID } from 'node:crypto'
import { parseJsonText } from '@postern/message'
import type { Notice } from '../transaction/notices.ts'

interface NotifyCodec {
  /**
   * Formats notices as payloads of NOTIFY, which may have 8,000 bytes each. Short notices share one, because the server sends each payload to each
   * gateway.
   */
  write(notices: readonly Notice[]): readonly string[]
  /** Reads the notices of another gateway when all pieces of them have arrived. */
  read(payload: string): readonly Notice[]
}

const pieceLength = 7_000
/** The maximum number of pieces of one list. A longer list is not sent, and its listeners find the change by a poll. */
const maxPieces = 64
/** The maximum number of lists of which some pieces have not arrived. They may never arrive. */
const maxIncompleteLists = 100

/** Creates the codec of notices between gateways of one database. A gateway also receives its own notices and ignores them. */
export function createNotifyCodec(gatewayId: string = randomUUID()): NotifyCodec {
  let lastList = 0
  const incompleteLists = new Map<string, string[]>()

  function formatPieces(text: string): readonly string[] {
    const count = Math.ceil(text.length / pieceLength)
    if (count > maxPieces) return []
    lastList += 1
    return Array.from({ length: count }, (_, index) => {
      const piece = text.slice(index * pieceLength, (index + 1) * pieceLength)
      return `${gatewayId} ${lastList} ${index} ${count} ${piece}`
    })
  }

  function joinPieces(
    key: string,
    { at, count, piece }: { at: number; count: number; piece: string },
  ): string | undefined {
    const pieces = incompleteLists.get(key) ?? []
    pieces[at] = piece
    incompleteLists.delete(key)
    if (Object.keys(pieces).length === count) return pieces.join('')
    incompleteLists.set(key, pieces)
    const [oldest] = incompleteLists.keys()
    if (incompleteLists.size > maxIncompleteLists && oldest !== undefined) incompleteLists.delete(oldest)
    return undefined
  }

  return {
    write: notices => packTexts(notices.flatMap(formatNotice)).flatMap(formatPieces),
    read(payload) {
      const match = /^(\S+) (\d+) (\d+) (\d+) (.*)$/s.exec(payload)
      const [, senderId, number, at, count, piece] = match ?? []
      if (senderId === gatewayId || piece === undefined) return []
      const text = joinPieces(`${senderId} ${number}`, { at: Number(at), count: Number(count), piece })
      return text === undefined ? [] : parseNotices(text)
    },
  }
}

/** Formats a notice as JSON; nothing for a payload that JSON cannot express. */
function formatNotice({ topic, payload }: Notice): readonly string[] {
  try {
    return [escapeLetters(JSON.stringify([topic, payload]))]
  } catch {
    return []
  }
}

/** Packs notices into lists of JSON, as many as fit into one piece. A longer notice gets a list of its own. */
function packTexts(texts: readonly string[]): readonly string[] {
  const lists: string[] = []
  for (const text of texts) {
    const last = lists.at(-1)
    if (last !== undefined && last.length + text.length + 3 <= pieceLength) lists[lists.length - 1] = `${last},${text}`
    else lists.push(text)
  }
  return lists.map(list => `[${list}]`)
}

/** Escapes letters to ASCII, so that no letter is cut. */
function escapeLetters(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Reads notices with care, because anybody who may write to the database can send anything. */
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
