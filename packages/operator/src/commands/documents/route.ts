// Returns a message as it arrived, and its answer as each channel sends it, in the operator's API.
import type { Json, NormalizedResponse } from '@postern/message'
import { Rejection } from '@postern/message'
import type { Channel, MessageRecord, OperatorStore, ReplayStore, TraceStore } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { turnOf } from '../../replay/read-again.ts'

const parameters = z.object({
  id: z.string().describe('The message’s number (`12`, `#12`), or the peer’s id, percent-encoded.'),
})

const unknownMessage = 'There is no message with this id.'

const documentOperations = {
  received: defineOperation({
    id: 'readReceived',
    method: 'GET',
    path: '/messages/{id}/received',
    summary: 'Returns the bytes of a message as they arrived, with the request, envelope or call that brought them.',
    task: 'read received bytes',
    parameters,
    answer: z.object({
      message: z.int().describe('The gateway’s number of the message.'),
      via: z.string().describe('Channel.'),
      bytes: z.string().describe('Base64.'),
      beside: z
        .custom<Json>()
        .describe(
          'The stored parts of the request, envelope or call, without credentials; null if the channel keeps none.',
        ),
    }),
    refusals: { no_recipient: `${unknownMessage} Or its bytes are no longer stored.` },
  }),
  previews: defineOperation({
    id: 'previewAnswer',
    method: 'GET',
    path: '/messages/{id}/previews',
    summary: 'Shows the answer of a message as each channel sends it, or would send it; sends nothing.',
    task: 'preview answer',
    parameters,
    answer: z.object({
      previews: z
        .array(
          z.object({
            via: z.string().describe('Channel.'),
            is_sent: z.boolean().describe('The gateway has sent these documents, or is sending them.'),
            documents: z.array(z.custom<Json>()).readonly().describe('Without signatures and secrets.'),
          }),
        )
        .readonly()
        .describe('Empty while there is no answer.'),
    }),
    refusals: { no_recipient: unknownMessage },
  }),
} as const

interface DocumentRouteOptions {
  readonly store: Pick<OperatorStore, 'findMessage'> &
    Pick<ReplayStore, 'findArrival'> &
    Pick<TraceStore, 'listChanges'>
  readonly channels: readonly Pick<Channel, 'descriptor' | 'diagnostics'>[]
}

export function createMessageDocumentRoutes({ store, channels }: DocumentRouteOptions): readonly OperatorRoute[] {
  const findRecord = async (id: string, task: string) =>
    requireFound(await store.findMessage(id), `Cannot ${task}: there is no message with this id`)
  return [
    handleOperation(documentOperations.received, async ({ parameters: { id } }) => {
      const { number, message } = await findRecord(id, 'read received bytes')
      const { raw, arrival = null } = (await store.findArrival(number)) ?? {}
      const [change] = await store.listChanges([number])
      if (change?.how === 'edited') {
        throw new Rejection(
          'no_recipient',
          'Cannot read received bytes: the author has edited the message, and only replays may read its former text',
        )
      }
      if (!raw) throw new Rejection('no_recipient', 'Cannot read received bytes: they are no longer stored')
      return { message: number, via: message.received_via, bytes: Buffer.from(raw).toString('base64'), beside: arrival }
    }),
    handleOperation(documentOperations.previews, async ({ parameters: { id } }) => {
      const record = await findRecord(id, 'preview answer')
      const { response } = record
      return { previews: response ? channels.map(channel => previewAnswer(channel, record, response)) : [] }
    }),
  ]
}

function previewAnswer(
  { descriptor: { name: via, isReadAsPreview }, diagnostics }: DocumentRouteOptions['channels'][number],
  record: MessageRecord,
  response: NormalizedResponse,
) {
  const ownDeliveries = record.deliveries.filter(delivery => delivery.via === via)
  const wires = ownDeliveries.flatMap(({ wire }) => wire ?? [])
  // A delivery without an attempt has no document yet.
  const isWritten = wires.length > 0 && !isReadAsPreview
  const documents = isWritten ? uniqueDocuments(wires) : diagnostics?.preview?.({ turn: turnOf(record), response })
  return { via, is_sent: ownDeliveries.length > 0, documents: documents ?? [] }
}

/** Removes equal documents. Most copies of an answer to many recipients are the same document. */
function uniqueDocuments(documents: readonly Json[]): readonly Json[] {
  return [...new Map(documents.map(document => [JSON.stringify(document), document])).values()]
}
