// Deletes at once all data that is older than the configuration allows, in the operator's API.
import { isJsonObject } from '@postern/message'
import type { GatewayStore } from '@postern/store'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const count = z.int()

export const pruneOperation = defineOperation({
  id: 'prune',
  method: 'POST',
  path: '/prune',
  isReadOnly: body => isJsonObject(body) && body.dry_run === true,
  summary:
    'Deletes messages, raw bytes, files and refusals that are older than `retention` keeps, or counts what it would delete.',
  task: 'prune',
  body: {
    schema: z.strictObject({ dry_run: z.boolean().default(false).describe('Only count what the call would delete.') }),
    isOptional: true,
  },
  answer: z.object({
    dry_run: z.boolean(),
    messages: count.describe('Older than `messages_days`.'),
    unproven: count.describe('Messages of senders who prove nothing, older than `unproven_days`.'),
    raw: count.describe('Messages that lose their raw bytes.'),
    files: count.describe('Messages that lose their files.'),
    refused: count.describe('Entries of the list of refusals.'),
    bytes: count.describe('Bytes of the messages, raw bytes and files together.'),
  }),
})

interface PruneRouteOptions {
  readonly store: Pick<GatewayStore, 'prune'>
  /** Returns the instants before which `retention` deletes data of each kind. */
  listCutoffs(): Parameters<GatewayStore['prune']>[0]
}

export function createPruneRoute({ store, listCutoffs }: PruneRouteOptions): OperatorRoute {
  return handleOperation(pruneOperation, async ({ body: { dry_run } }) => {
    const pruned = await store.prune(listCutoffs(), { isDry: dry_run })
    return { dry_run, ...pruned }
  })
}
