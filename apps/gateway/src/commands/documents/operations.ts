import type { Json } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const parameters = z.object({
  id: z.string().describe('Its number (`12`, `#12`), or the peer’s id, percent-encoded.'),
})
const unknownMessage = 'There is no message with this id.'

export const documentOperations = {
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
