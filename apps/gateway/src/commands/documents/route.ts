import type { Channel, Json, MessageRecord, NormalizedResponse, OperatorStore, ReplayStore } from '@postern/core'
import { Rejection } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { turnOf } from '../../replay/read-again.ts'

const parameters = z.object({
  id: z.string().describe('Its number (`12`, `#12`), or the peer’s id, percent-encoded.'),
})

const unknownMessage = 'There is no message with this id.'

const documentOperations = {
  received: defineOperation({
    id: 'readReceived',
    method: 'GET',
    path: '/messages/{id}/received',
    summary: 'Gives the bytes of a message as they came, and what came beside them.',
    task: 'read received bytes',
    parameters,
    answer: z.object({
      message: z.int().describe('The gateway’s number of it.'),
      via: z.string().describe('Channel.'),
      bytes: z.string().describe('Base64.'),
      beside: z
        .custom<Json>()
        .describe(
          'What the channel keeps of the request, envelope or call, without credentials; null where nothing is.',
        ),
    }),
    refusals: { no_recipient: `${unknownMessage} Or its bytes are not kept any more.` },
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
  readonly store: Pick<OperatorStore, 'findMessage'> & Pick<ReplayStore, 'findArrival'>
  readonly channels: readonly Pick<Channel, 'descriptor' | 'preview' | 'isReadAsPreview'>[]
}

/** A message as it came, and its answer as it leaves. */
export function createMessageDocumentRoutes({ store, channels }: DocumentRouteOptions): readonly OperatorRoute[] {
  const find = async (id: string, task: string) =>
    requireFound(await store.findMessage(id), `Cannot ${task}: there is no message with this id`)
  return [
    handleOperation(documentOperations.received, async ({ parameters: { id } }) => {
      const { number, message } = await find(id, 'read received bytes')
      const { raw, arrival = null } = (await store.findArrival(number)) ?? {}
      if (!raw) throw new Rejection('no_recipient', 'Cannot read received bytes: they are not kept any more')
      return { message: number, via: message.received_via, bytes: Buffer.from(raw).toString('base64'), beside: arrival }
    }),
    handleOperation(documentOperations.previews, async ({ parameters: { id } }) => {
      const record = await find(id, 'preview answer')
      const { response } = record
      return { previews: response ? channels.map(channel => previewBy(channel, record, response)) : [] }
    }),
  ]
}

function previewBy(
  { descriptor: { name: via }, preview, isReadAsPreview }: DocumentRouteOptions['channels'][number],
  record: MessageRecord,
  response: NormalizedResponse,
) {
  const own = record.deliveries.filter(delivery => delivery.via === via)
  const wires = own.flatMap(({ wire }) => wire ?? [])
  // What has not been tried yet has no document of its own.
  const isWritten = wires.length > 0 && !isReadAsPreview
  const documents = isWritten ? listOnce(wires) : preview?.({ turn: turnOf(record), response })
  return { via, is_sent: own.length > 0, documents: documents ?? [] }
}

/** Most copies of an answer to many are the same document. */
function listOnce(documents: readonly Json[]): readonly Json[] {
  return [...new Map(documents.map(document => [JSON.stringify(document), document])).values()]
}
