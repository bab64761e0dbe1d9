import type { Channel } from '@postern/core'
import { Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { readOwner } from '../owner.ts'
import { peopleOperations } from './operations.ts'

type OwnerRouteOptions = Pick<
  GatewayStore,
  'forgetTasks' | 'unlinkAll' | 'transcript' | 'objects' | 'records' | 'rewriteFiles'
>

const problem = 'Cannot forget: say "owner", the key of somebody\u2019s chats, such as web:["https://id.example","ann"]'

/** Somebody who chats: all that is theirs, in every format, is deleted. And the files of the store, from which deleted rows are taken out. */
export function createOwnerRoutes(
  store: OwnerRouteOptions,
  channels: readonly Pick<Channel, 'descriptor'>[],
): readonly OperatorRoute[] {
  return [
    handleOperation(peopleOperations.forgetOwner, async ({ body }) => {
      const owner = readOwner(body.owner, channels)
      // To delete nothing, and say so, would be taken for done.
      if (owner === undefined) throw new Rejection('malformed', problem)
      return { owner, ...(await forgetOwner(owner, store)) }
    }),
    handleOperation(peopleOperations.vacuum, async () => {
      await store.rewriteFiles()
      return { rewritten: true as const }
    }),
  ]
}

async function forgetOwner(owner: string, { forgetTasks, unlinkAll, transcript, objects, records }: OwnerRouteOptions) {
  return {
    links: await unlinkAll(owner),
    runs: await forgetTasks(owner),
    threads: await transcript.forgetOwner(owner),
    attachments: await objects.removeObjects(owner),
    records: await records.removeOwner(owner),
  }
}
