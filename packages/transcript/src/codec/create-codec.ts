import type { EntryBody } from '../entry/entry.ts'
import type { JsonMap } from '../json/difference.ts'
import type { Codec } from './codec.ts'
import type { Dialect } from './dialect.ts'
import { listClaimedIds } from './origin-marker.ts'
import { diffMessage, readMessage } from './read-message.ts'
import { countWhole } from './runs.ts'
import { writeMessages } from './write-messages.ts'

/** The codec of a dialect. Residue, markers and trust are the same for all dialects. */
export function createCodec<Foreign extends JsonMap>(dialect: Dialect<Foreign>): Codec<Foreign> {
  return {
    format: dialect.format,
    parse: value => dialect.parse(value),
    listClaims: messages => messages.flatMap(value => listClaimedIds(dialect.readMarker(dialect.parse(value)))),
    read(messages, context) {
      const entries: EntryBody[] = []
      const before = [...(context.before ?? [])]
      for (const [index, value] of messages.entries()) {
        const read = readMessage(value, { context, index, before }, dialect)
        entries.push(...read)
        before.push(...read)
      }
      return entries
    },
    write: (entries, options) => writeMessages(entries, dialect, options),
    countWhole: entries => countWhole(entries, dialect),
    diffOf: (run, message) => diffMessage(run, message, dialect),
  }
}
