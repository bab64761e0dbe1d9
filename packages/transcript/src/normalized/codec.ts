import {
  type Json,
  type NormalizedMessage,
  type NormalizedResponse,
  normalizedMessageSchema,
  normalizedResponseSchema,
} from '@postern/core'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect } from '../codec/dialect.ts'
import { markerOfRun } from '../codec/origin-marker.ts'
import { isJsonMap, type JsonMap } from '../json/difference.ts'
import { parseForeign } from '../json/parse-foreign.ts'
import { readMessageDrafts, readResponseDrafts } from './read.ts'
import { writeNormalized } from './write.ts'

/** A message to an agent, or an agent's answer, as plain JSON. */
type NormalizedForeign = JsonMap & { readonly id: string; readonly parts: readonly Json[] }

/** @throws Rejection malformed, naming the member */
function parseNormalized(value: unknown): NormalizedForeign {
  const isMessage = isJsonMap(value) && 'received_via' in value
  const parsed = isMessage
    ? parseForeign(normalizedMessageSchema, value, 'message')
    : parseForeign(normalizedResponseSchema, value, 'response')
  const { kind, ...rest } = parsed as unknown as NormalizedForeign
  // The schema fills in the kind a message has when it names none.
  return isJsonMap(value) && value.kind !== undefined ? { ...rest, kind } : rest
}

function isNormalizedMessage(foreign: NormalizedForeign): boolean {
  return 'received_via' in foreign
}

const dialect: Dialect<NormalizedForeign> = {
  format: 'normalized',
  parse: parseNormalized,
  toDrafts: foreign =>
    isNormalizedMessage(foreign)
      ? readMessageDrafts(foreign as unknown as NormalizedMessage)
      : readResponseDrafts(foreign as unknown as NormalizedResponse),
  countRun: () => 1,
  toMessage: run => writeNormalized(run) as unknown as NormalizedForeign,
  // Nothing in it is open for a bag: its id is one.
  markerIsId: true,
  readMarker: ({ id }) => ({ v: 1, entry_id: id, kind: 'text' }),
  stripMarker: foreign => foreign,
  addMarker: (foreign, run) => (run[0]?.ext?.normalized ? foreign : { ...foreign, id: markerOfRun(run).entry_id }),
  essenceOf(foreign) {
    const isMessage = isNormalizedMessage(foreign)
    const author = isMessage && isJsonMap(foreign.sender) ? foreign.sender.address : foreign.sender
    return { isMessage, author: author ?? '', parts: foreign.parts }
  },
}

/** Messages to agents and their answers. */
export const normalizedCodec = createCodec(dialect)
